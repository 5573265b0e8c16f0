#pragma once
#include <ATen/record_function.h>

#include <string>
#include <string_view>

namespace tessera {

// How parts are told from what else is recorded.
inline constexpr std::string_view kPartPrefix = "part: ";

// While it lives, what runs on this thread is a part of the work with this name in a profile (train/profile.h). Costs some
// nanoseconds where nothing is recorded.
class ProfiledPart {
 public:
  explicit ProfiledPart(std::string_view name) : record_(at::RecordScope::USER_SCOPE) {
    if (record_.isActive()) record_.before(std::string(kPartPrefix) + std::string(name));
  }
  ProfiledPart(const ProfiledPart&) = delete;
  ProfiledPart& operator=(const ProfiledPart&) = delete;

 private:
  at::RecordFunction record_;
};

}  // namespace tessera
