#pragma once
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <string>

namespace tessera {

// The name of a user for messages; "uid 1000" where the system knows none, as in containers.
inline std::string user_name(uid_t user) {
  std::array<char, 4096> texts{};
  struct passwd entry {};
  struct passwd* found = nullptr;
  if (::getpwuid_r(user, &entry, texts.data(), texts.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return "uid " + std::to_string(user);
}

}  // namespace tessera
