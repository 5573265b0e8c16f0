#include "train/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "infer/auto_precision.h"
#include "support/tiny_experiment.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("tessera-run-precision-" + std::to_string(::getpid()))) {
    fs::remove_all(path_);
  }
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

TEST(RunPrecision, IsDecidedWhenTheRunBeginsAndWrittenDown) {
  const Folder folder;
  World alone;
  run_training(short_run(folder, "auto"), {}, alone);
  EXPECT_EQ(written(folder), pick_precision(Precision::kAuto, at::kCPU));
  EXPECT_NE(written(folder), Precision::kAuto);
}

// As if the run came from a machine that decides otherwise.
TEST(RunPrecision, AResumedRunKeepsItsPrecision) {
  for (const std::string began : {"fp64", "bf16"}) {
    const Folder folder;
    World alone;
    run_training(short_run(folder, began), {}, alone);
    Experiment again = short_run(folder, "auto");
    EXPECT_NO_THROW(run_training(again, {.resume = true}, alone)) << began;
    EXPECT_EQ(name_of(written(folder)), began);
  }
}

}  // namespace
}  // namespace tessera
