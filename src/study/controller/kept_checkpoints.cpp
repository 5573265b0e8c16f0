#include "study/controller/kept_checkpoints.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

std::optional<fs::path> newest_checkpoint(const fs::path& folder) {
  std::optional<fs::path> newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("step-") || !fs::exists(entry.path() / "DONE", error)) continue;
    if (!newest || name > newest->filename().string()) newest = entry.path();
  }
  return newest;
}

void link_files(const fs::path& from, const fs::path& to) {
  make_folders(to);
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path own = to / entry.path().filename();
    std::error_code error;
    fs::create_hard_link(entry.path(), own, error);
    if (error) fs::copy_file(entry.path(), own, error);
    if (error) fail("cannot keep the checkpoint {}: {}", printable(from.string()), error.message());
  }
}

}  // namespace

KeptCheckpoints::KeptCheckpoints(fs::path folder) : folder_(std::move(folder)) {}

fs::path KeptCheckpoints::place(int64_t number, int64_t step) const {
  return folder_ / std::to_string(step) / std::to_string(number);
}

void KeptCheckpoints::keep(int64_t number, int64_t step, const fs::path& run) {
  const fs::path target = place(number, step), draft = target.string() + ".tmp";
  if (fs::exists(target)) return;
  const std::optional<fs::path> newest = newest_checkpoint(run / "checkpoints");
  TSR_CHECK(newest.has_value(), "trial {} has no checkpoint to keep in {}", number, printable(run.string()));
  fs::remove_all(draft);
  link_files(*newest, draft / newest->filename());
  fs::rename(draft, target);
}

std::optional<fs::path> KeptCheckpoints::find(int64_t number, int64_t step) const {
  return newest_checkpoint(place(number, step));
}

void KeptCheckpoints::forget_before(int64_t step) {
  std::error_code error;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::optional<int64_t> of = parse_whole(entry.path().filename().string());
    if (of && *of < step) old.push_back(entry.path());
  }
  for (const fs::path& folder : old) fs::remove_all(folder, error);
}

}  // namespace tessera
