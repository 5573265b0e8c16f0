#include "infer/auto_precision.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "dist/thread_ranks.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

using testing::short_run;

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

TEST(AutoPrecision, TheFirstRankDecidesForAll) {
  const testing::TempFolder folder;
  write_file(folder / "config.yaml", experiment_yaml(short_run(folder.path(), "fp64")));
  std::vector<Precision> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    // The second one would decide otherwise: it sees no run.
    const fs::path seen = world.is_first() ? folder.path() : folder / "elsewhere";
    found[world.rank()] = precision_of_run(short_run(folder.path(), "auto").train, seen, true, "cpu", world);
  });
  EXPECT_EQ(found, (std::vector<Precision>{Precision::kFp64, Precision::kFp64}));
}

}  // namespace
}  // namespace tessera
