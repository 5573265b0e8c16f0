#include "study/scale/scale_study.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

class ScaleStudyTest : public ::testing::Test {
 protected:
  ScaleStudyTest() : folder_(fs::temp_directory_path() / fmt::format("scale_study_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~ScaleStudyTest() override { fs::remove_all(folder_); }
  fs::path file(const std::string& text) const {
    write_file(folder_ / "fields.yaml", text);
    return folder_ / "fields.yaml";
  }
  fs::path folder_;
};

TEST_F(ScaleStudyTest, AStudysFileIsToldFromAConfig) {
  EXPECT_FALSE(read_scale_file(file("train: {batch_size: 4}\n")).has_value());
  const ScaleFile study = read_scale_file(file("config: demo\nranks: [1, 2]\nmodes: [ddp, dp]\nscaling: weak\nrepeat: 3\n"
                                               "executor: {type: slurm, partition: gpu, gpus_per_node: 2}\n"))
                              .value();
  EXPECT_EQ(study.config.name, "fields");
  EXPECT_EQ(study.config.config, "demo");
  EXPECT_EQ(study.config.modes, (std::vector{ParallelMode::kDdp, ParallelMode::kDp}));
  EXPECT_EQ(std::get<SlurmOptions>(study.executor).partition, "gpu");
  EXPECT_THROW(read_scale_file(file("config: demo\nrank: [1]\n")), UsageError);
  EXPECT_THROW(read_scale_file(file("config: demo\nexecutor: {type: slurm, partitions: gpu}\n")), UsageError);
  EXPECT_THROW(read_scale_file(file("config: demo\nexecutor: pbs\n")), UsageError);
}

TEST_F(ScaleStudyTest, PathsAreBesideTheFile) {
  write_file(folder_ / "own.yaml", std::string_view("train: {batch_size: 4}\n"));
  EXPECT_EQ(read_scale_file(file("config: own.yaml\n")).value().config.config, (folder_ / "own.yaml").string());
}

TEST_F(ScaleStudyTest, EveryTrainingIsCheckedAndHasItsCommand) {
  const ScaleConfig config{.config = "demo", .set = {"train.duration=1ep"}, .ranks = {2}, .modes = {ParallelMode::kZero1}};
  const std::vector<PlannedTraining> planned = plan_scale(config, folder_);
  ASSERT_EQ(planned.size(), 1U);
  EXPECT_EQ(planned[0].batch_size, 8);
  EXPECT_EQ(planned[0].trial.arguments, (std::vector<std::string>{"train", "demo", "train.duration=1ep", "train.seed=17",
                                                                  "run.dir=" + (folder_ / "runs/zero1-2-seed0").string(),
                                                                  "--resume", "-p", "zero1", "--ranks", "2"}));
  EXPECT_THROW(plan_scale({.config = "demo", .set = {"train.duratoin=1ep"}}, folder_), UsageError);
  EXPECT_THROW(plan_scale({.config = "demo"}, folder_, [](const Experiment&) { fail_usage("no such model"); }), UsageError);
}

TEST_F(ScaleStudyTest, OutcomesAreInTheOrderOfThePlan) {
  const std::vector<PlannedTraining> planned = plan_scale({.config = "demo", .ranks = {1, 2}}, folder_);
  ScaleState state(folder_ / "study.json");
  state.take({planned[1].trial});
  state.trials()[0].state = TrialState::kFailed;
  const std::vector<ScaleOutcome> outcomes = scale_outcomes(planned, state, folder_);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].state, TrialState::kWaiting);
  EXPECT_EQ(outcomes[1].state, TrialState::kFailed);
  EXPECT_FALSE(outcomes[1].figures.has_value());
}

}  // namespace
}  // namespace tessera
