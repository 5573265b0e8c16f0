#include "infer/auto_precision.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/files.h"
#include "dist/thread_ranks.h"
#include "support/tiny_experiment.h"
#include "tensor/prepare_cpu.h"

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
  const Folder folder;
  fs::create_directories(folder.path());
  write_file(folder.path() / "config.yaml", experiment_yaml(short_run(folder, "fp64")));
  std::vector<Precision> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    // The second one would decide otherwise: it sees no run.
    const fs::path seen = world.is_first() ? folder.path() : folder.path() / "elsewhere";
    found[world.rank()] = precision_of_run(short_run(folder, "auto").train, seen, true, "cpu", world);
  });
  EXPECT_EQ(found, (std::vector<Precision>{Precision::kFp64, Precision::kFp64}));
}

}  // namespace
}  // namespace tessera
