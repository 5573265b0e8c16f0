#include "infer/checkpoint/checkpoint_store.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "storage/fetched_run.h"

namespace tessera {
namespace {

constexpr const char* kPrefix = "step-";
constexpr const char* kBest = "best.json";

// Complete checkpoints, newest first.
std::vector<fs::path> complete_checkpoints(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kPrefix) && is_complete_checkpoint(entry->path()))
      found.push_back(entry->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// The name of the checkpoint that best.json names; empty where there is none.
std::string named_best(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kBest, error)) return "";
  const auto best = nlohmann::json::parse(read_text(folder / kBest), nullptr, false);
  const bool named = best.is_object() && best.contains("checkpoint") && best["checkpoint"].is_string();
  return named ? best["checkpoint"].get<std::string>() : "";
}

std::optional<std::pair<fs::path, Checkpoint>> newest_undamaged(const fs::path& checkpoints) {
  for (const fs::path& folder : complete_checkpoints(checkpoints)) {
    try {
      return std::pair(folder, read_checkpoint(folder));
    } catch (const Error& e) {
      log_warn("{}; trying the one before", e.what());
    }
  }
  return std::nullopt;
}

void check_is_folder(const fs::path& given) {
  std::error_code error;
  TSR_CHECK(fs::exists(given, error),
            "no run or checkpoint at {}; expected a run folder such as runs/demo or runs/demo/checkpoints/step-...",
            given.string());
  TSR_CHECK_USAGE(
      !fs::is_regular_file(given, error),
      "{} is a file, a run or checkpoint folder was expected. A file of weights does not say which model it is of: name "
      "a config for it, CONFIG model.pretrained={} in place of --weights",
      given.string(), given.string());
}

[[noreturn]] void fail_without_checkpoint(const fs::path& given) {
  std::error_code error;
  const fs::directory_iterator look(given / "checkpoints", error);
  TSR_CHECK(error != std::errc::permission_denied,
            "cannot read {}: {}; a run is its owner's alone until they give it away: chmod -R go+rX {}",
            (given / "checkpoints").string(), error.message(), given.string());
  fail("{} holds no complete checkpoint (looked in {} for step-* folders with a DONE file)", given.string(),
       (given / "checkpoints").string());
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, const CheckpointConfig& config, Access access)
    : folder_(std::move(folder)), config_(config), access_(access) {}

CheckpointStore::~CheckpointStore() {
  if (!running_.valid()) return;
  try {
    running_.get();
  } catch (const std::exception& e) {
    log_error("{}", e.what());
  }
}

void CheckpointStore::save(Checkpoint checkpoint) {
  wait();
  for (auto* tensors : {&checkpoint.model, &checkpoint.optimizer, &checkpoint.average}) {
    for (auto& entry : *tensors)
      entry.second = entry.second.detach().cpu().clone();  // training goes on and changes the originals
  }
  running_ = std::async(std::launch::async, [this, kept = std::move(checkpoint)] { write(kept); });
}

void CheckpointStore::wait() {
  if (running_.valid()) running_.get();
}

void CheckpointStore::write(const Checkpoint& checkpoint) const {
  write_checkpoint(folder_ / checkpoint_name(checkpoint.state.step), checkpoint, access_);
  mark_best(checkpoint.state);
  prune(checkpoint.state);
}

void CheckpointStore::note_evaluated(const TrainState& state) {
  wait();
  write_evaluated(folder_ / checkpoint_name(state.step), state, access_);
  mark_best(state);
  prune(state);
}

void CheckpointStore::mark_best(const TrainState& state) const {
  if (!config_.keep_best || state.best_step != state.step) return;
  const nlohmann::json best{
      {"checkpoint", checkpoint_name(state.step)}, {"metric", config_.best_metric}, {"value", state.best_value.value()}};
  write_file(folder_ / kBest, json_text(best, 2), access_);
}

// A best step may have failed to be saved, or not be marked yet: what best.json names stays until it names another. Steps
// after the one just written are left from a session that went further, and loading passed over them because they are
// damaged: they must not take the place of good ones.
void CheckpointStore::prune(const TrainState& state) const {
  const std::string best = checkpoint_name(state.best_step), named = named_best(folder_), newest = checkpoint_name(state.step);
  int64_t kept = 0;
  for (const fs::path& path : complete_checkpoints(folder_)) {
    const std::string name = path.filename().string();
    if (name > newest || kept++ < config_.keep_last) continue;
    if (config_.keep_best && (name == best || name == named)) continue;
    std::error_code error;
    fs::remove(path / "DONE", error);  // first: a half-removed folder must not look complete
    fs::remove_all(path, error);
  }
}

std::optional<Checkpoint> CheckpointStore::load_latest() const {
  auto found = newest_undamaged(folder_);
  return found ? std::optional(std::move(found->second)) : std::nullopt;
}

void CheckpointStore::check_room(int64_t bytes_per_checkpoint) const {
  std::error_code error;
  const fs::path run = folder_.parent_path();
  std::string why = run.empty() || fs::is_directory(run, error) ? "" : why_not_writable(run, access_);
  if (why.empty()) why = why_not_writable(folder_, access_);
  TSR_CHECK(why.empty(), "checkpoints cannot be written to {}: {}; choose another run.dir", folder_.string(), why);
  const auto space = fs::space(folder_, error);
  if (error) return;
  const int64_t held = static_cast<int64_t>(complete_checkpoints(folder_).size());
  const int64_t kept = config_.keep_last + (config_.keep_best ? 1 : 0) + 1;  // and the one being written
  const auto needed = static_cast<uint64_t>(std::max<int64_t>(1, kept - held) * bytes_per_checkpoint);
  TSR_CHECK(space.available >= needed,
            "the disk of {} has {} MB left and checkpoints need {} MB ({} of {} MB each); free space, choose another run.dir, "
            "or set checkpoint.keep_last lower",
            folder_.string(), space.available >> 20, (needed >> 20) + 1, std::max<int64_t>(1, kept - held),
            (bytes_per_checkpoint >> 20) + 1);
}

bool holds_checkpoint(const fs::path& folder) {
  return !complete_checkpoints(folder).empty();
}

fs::path resolve_checkpoint(const fs::path& asked) {
  const fs::path given = fetched_run(asked.string());
  std::error_code error;
  check_is_folder(given);
  if (is_complete_checkpoint(given)) return given;
  for (const fs::path& folder : {given / "checkpoints", given}) {
    if (fs::exists(folder / kBest, error)) {
      const std::string best = named_best(folder);
      if (!best.empty() && is_complete_checkpoint(folder / best)) return folder / best;
      log_warn("{} names no complete checkpoint; the newest one is taken", (folder / kBest).string());
    }
    if (const auto all = complete_checkpoints(folder); !all.empty()) return all.front();
  }
  fail_without_checkpoint(given);
}

std::pair<fs::path, Checkpoint> load_newest(const fs::path& asked) {
  const fs::path given = fetched_run(asked.string());
  check_is_folder(given);
  if (is_complete_checkpoint(given)) return {given, read_checkpoint(given)};
  for (const fs::path& folder : {given / "checkpoints", given}) {
    if (auto found = newest_undamaged(folder)) return std::move(*found);
  }
  fail_without_checkpoint(given);
}

}  // namespace tessera
