#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "core/access.h"
#include "train/profile.h"

namespace tessera {

// What a profile says, for people: a table of its parts, the most expensive operations, and one sentence of advice. steps: that
// it is of. loader: what is said of the loader, if anything (data/loading/loader_advice.h).
std::string profile_text(const Profile& profile, int64_t steps, at::Device device, const std::string& loader);

// The sentence alone: what takes most, and what to set.
std::string profile_advice(const Profile& profile, at::Device device, const std::string& loader);

// Records some steps of a run, once the first ones, which are not like the others, are over: `tessera train --profile`.
class RunProfile {
 public:
  // steps: how many; 0: none are recorded.
  RunProfile(int64_t steps, at::Device device) : steps_(steps), device_(device) {}

  // Before each step of the run. True for the steps that are recorded.
  bool records(int64_t step);

  // Whether the last one is over, or the run is.
  bool is_complete(int64_t step) const { return session_.has_value() && step >= begin_ + steps_; }
  bool has_begun() const { return session_.has_value(); }

  // Ends it, writes FOLDER/profile/{trace.json, profile.txt}, and returns what is in the second. Once.
  std::string finish(const std::filesystem::path& folder, Access access, int64_t step, const std::string& loader);

 private:
  int64_t steps_;
  at::Device device_;
  int64_t first_ = -1, begin_ = 0;
  std::optional<ProfileSession> session_;
};

}  // namespace tessera
