#include "train/run.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "infer/auto_precision.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

using testing::short_run;
using testing::TempFolder;

Precision written(const TempFolder& folder) {
  return load_experiment(folder / "config.yaml").train.precision;
}

TEST(RunPrecision, IsDecidedWhenTheRunBeginsAndWrittenDown) {
  const TempFolder folder;
  World alone;
  run_training(short_run(folder.path(), "auto"), {}, alone);
  EXPECT_EQ(written(folder), pick_precision(Precision::kAuto, at::kCPU));
  EXPECT_NE(written(folder), Precision::kAuto);
}

// As if the run came from a machine that decides otherwise.
TEST(RunPrecision, AResumedRunKeepsItsPrecision) {
  for (const std::string began : {"fp64", "bf16"}) {
    const TempFolder folder;
    World alone;
    run_training(short_run(folder.path(), began), {}, alone);
    Experiment again = short_run(folder.path(), "auto");
    EXPECT_NO_THROW(run_training(again, {.resume = true}, alone)) << began;
    EXPECT_EQ(name_of(written(folder)), began);
  }
}

}  // namespace
}  // namespace tessera
