#pragma once
#include <filesystem>
#include <future>
#include <optional>
#include <utility>

#include "config/train_config.h"
#include "infer/checkpoint/checkpoint.h"

namespace tessera {

// The checkpoints of a run: `RUN/checkpoints/step-*` and best.json, which names the best one. Saving runs in the background,
// one at a time; older checkpoints go only when a newer one is complete. Not thread-safe.
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, const CheckpointConfig& config, Access access = Access::kUmask);
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  // Takes its own copies of the tensors before it returns. Waits for a save still running and throws if that one failed.
  void save(Checkpoint checkpoint);

  // Says what the evaluation of a step that is saved already has found: whether it is the best, and where the run stands now.
  // Waits for the running save; throws Error if that failed or the checkpoint is gone, and nothing is said then.
  void note_evaluated(const TrainState& state);

  // Waits for the running save; throws Error if it failed.
  void wait();

  // Newest complete and undamaged checkpoint; damaged ones are reported and passed over.
  std::optional<Checkpoint> load_latest() const;

  // Makes the folder and throws when it cannot be written or the disk has no room for what will be kept.
  void check_room(int64_t bytes_per_checkpoint) const;

 private:
  void write(const Checkpoint& checkpoint) const;
  void mark_best(const TrainState& state) const;
  void prune(const TrainState& state) const;

  std::filesystem::path folder_;
  CheckpointConfig config_;
  Access access_;
  std::future<void> running_;
};

// Whether a folder of checkpoints holds a complete one.
bool holds_checkpoint(const std::filesystem::path& folder);

// The newest checkpoint of a run that is whole (damaged ones are reported and passed over), or `asked` itself where that is a
// checkpoint; and its folder. A run in a bucket is fetched first. Throws Error with what was looked for.
std::pair<std::filesystem::path, Checkpoint> load_newest(const std::filesystem::path& asked);

// The checkpoint that a user means by RUN, RUN/checkpoints/step-..., or RUN's best; a RUN in a bucket is fetched first. Throws
// Error with what was looked for.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& asked);

}  // namespace tessera
