#include "train/auto_precision.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "dist/thread_ranks.h"
#include "support/tiny_experiment.h"
#include "tensor/prepare_cpu.h"
#include "train/run.h"

namespace tessera {
namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tessera-precision-" + std::to_string(::getpid()))) { fs::remove_all(path_); }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Experiment short_run(const Folder& folder, const std::string& precision) {
  return testing::tiny_experiment({"train.duration=2ba", "run.dir=" + folder.path().string(), "run.tensorboard=false",
                                   "train.device=cpu", "train.precision=" + precision});
}

Precision written(const Folder& folder) {
  return load_experiment(folder.path() / "config.yaml").train.precision;
}

TEST(AutoPrecision, FollowsTheInstructionSet) {
  EXPECT_EQ(fastest_precision(9, false), Precision::kBf16);
  EXPECT_EQ(fastest_precision(8, false), Precision::kBf16);
  EXPECT_EQ(fastest_precision(7, true), Precision::kFp32);
  EXPECT_EQ(fastest_precision(0, true), Precision::kBf16);
  EXPECT_EQ(fastest_precision(0, false), Precision::kFp32);
}

TEST(AutoPrecision, LeavesWhatWasAskedFor) {
  for (const Precision asked : {Precision::kFp32, Precision::kBf16, Precision::kFp64, Precision::kTf32})
    EXPECT_EQ(pick_precision(asked, at::kCPU), asked);
}

TEST(AutoPrecision, IsDecidedWhenTheRunBeginsAndWrittenDown) {
  const Folder folder;
  World alone;
  run_training(short_run(folder, "auto"), {}, alone);
  EXPECT_EQ(written(folder), pick_precision(Precision::kAuto, at::kCPU));
  EXPECT_NE(written(folder), Precision::kAuto);
}

// As if the run came from a machine that decides otherwise.
TEST(AutoPrecision, AResumedRunKeepsItsPrecision) {
  for (const std::string began : {"fp64", "bf16"}) {
    const Folder folder;
    World alone;
    run_training(short_run(folder, began), {}, alone);
    Experiment again = short_run(folder, "auto");
    EXPECT_NO_THROW(run_training(again, {.resume = true}, alone)) << began;
    EXPECT_EQ(name_of(written(folder)), began);
  }
}

TEST(AutoPrecision, TheFirstRankDecidesForAll) {
  const Folder folder;
  fs::create_directories(folder.path());
  write_file(folder.path() / "config.yaml", experiment_yaml(short_run(folder, "fp64")));
  std::vector<Precision> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    // The second one would decide otherwise: it sees no run.
    const fs::path seen = world.is_first() ? folder.path() : folder.path() / "elsewhere";
    found[static_cast<size_t>(world.rank())] = precision_of_run(short_run(folder, "auto").train, seen, true, "cpu", world);
  });
  EXPECT_EQ(found, (std::vector<Precision>{Precision::kFp64, Precision::kFp64}));
}

}  // namespace
}  // namespace tessera
