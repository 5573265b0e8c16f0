#include "study/controller/study_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "study/space/space_json.h"

namespace tessera {
namespace {

class StudyPlanTest : public ::testing::Test {
 protected:
  StudyPlanTest() : folder_(fs::temp_directory_path() / fmt::format("study_plan_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file(folder_ / "base.yaml", std::string_view("data: {type: synthetic}\ntrain: {duration: 400ba}\n"));
  }
  ~StudyPlanTest() override { fs::remove_all(folder_); }

  StudyRequest request(const std::string& text) const {
    write_file(folder_ / "cells.yaml", text);
    StudyRequest request;
    request.file = folder_ / "cells.yaml";
    return request;
  }
  std::string error(const StudyRequest& request) const {
    try {
      read_study(request);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "no error";
  }
  static void expect_says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  does not say: " << part;
  }

  fs::path folder_;
};

constexpr const char* kStudy = R"(config: base.yaml
set: {optimizer.momentum: 0.8, model: {unet: {channels: [8, 16]}}}
space:
  optimizer.lr: {log: [1e-4, 1e-1]}
  model.name: [unet, fcn_r50]
search: sobol
scheduler: {type: asha, grace: 50}
points: [{optimizer.lr: 0.01, model.name: unet}]
objectives: [mean_iou, minimize seconds]
budget: {trials: 20, time: 2h, cost: 12}
prices: {currency: EUR, device_hour: {H200: 3.5, cpu: 0.04}}
)";

TEST_F(StudyPlanTest, AStudyIsReadWithItsConfig) {
  const StudyPlan plan = read_study(request(kStudy));
  EXPECT_EQ(plan.settings.name, "cells");
  EXPECT_EQ(plan.folder, fs::absolute("studies/cells"));
  EXPECT_EQ(plan.settings.unit, StepUnit::kSteps);
  EXPECT_EQ(plan.max_steps, 400);
  EXPECT_EQ(plan.time_s, 7200);
  EXPECT_EQ(plan.objectives.at(1).metric, "seconds");
  EXPECT_EQ(plan.objectives.at(1).direction, Direction::kMinimize);
  EXPECT_EQ(plan.points.at(0).at("optimizer.lr"), 0.01);
  expect_says(plan.config_text, "optimizer: {momentum: 0.8}");
  EXPECT_EQ(plan.prices.value().currency, "EUR");
}

TEST_F(StudyPlanTest, ItsOwnFilesReadBackToTheSameStudy) {
  const StudyPlan plan = read_study(request(kStudy));
  write_file(folder_ / kStudyConfig, plan.config_text);
  write_file(folder_ / kStudyFile, plan.text);
  StudyRequest again;
  again.file = folder_ / kStudyFile;
  EXPECT_EQ(read_study(again).definition, plan.definition);
  EXPECT_EQ(read_study(again).text, plan.text);
  EXPECT_EQ(read_study(again).prices.value().device_hour, plan.prices.value().device_hour);
}

TEST_F(StudyPlanTest, AConfigAndWhatToVaryAreAStudyToo) {
  StudyRequest quick;
  quick.file = folder_ / "base.yaml";
  quick.vary = {"optimizer.lr=log:1e-4:1e-1", "model.name=unet,fcn_r50", "optimizer.momentum=uniform:0.8:0.9:0.05",
                "model.unet.channels=[4,8],[8,8]"};
  quick.overrides = {"train.seed=7"};
  quick.settings = {"budget.trials=3", "name=quick"};
  const StudyPlan plan = read_study(quick);
  EXPECT_EQ(plan.space.parameters().size(), 4U);
  write_file(folder_ / kStudyConfig, plan.config_text);
  write_file(folder_ / kStudyFile, plan.text);
  StudyRequest again;
  again.file = folder_ / kStudyFile;
  EXPECT_EQ(space_json(read_study(again).space), space_json(plan.space));
  EXPECT_EQ(read_study(again).definition, plan.definition);
}

TEST_F(StudyPlanTest, MistakesAreFoundBeforeAnythingStarts) {
  const std::string space = "space: {optimizer.lr: [0.1, 0.2]}\nconfig: base.yaml\n", rest = "budget: {trials: 3}\n";
  expect_says(error(request(space + rest + "schedular: asha\n")), "no key 'schedular', did you mean 'scheduler'?");
  expect_says(error(request(space)), "the study would never end");
  expect_says(error(request(space + "budget: {time: 3x}\n")), "budget.time: '3x' is no length of time; write 3h50m");
  expect_says(error(request(space + "budget: {cost: 3}\n")), "give --prices FILE");
  expect_says(error(request(space + rest + "objectives: [biggest mean_iou]\n")), "expected a metric");
  expect_says(error(request("config: base.yaml\nspace: {optimizer.lrr: [0.1, 0.2]}\n" + rest)), "did you mean 'optimizer.lr'?");
  expect_says(error(request(space + rest + "search: sobool\n")), "did you mean 'sobol'?");
  expect_says(error(request(space + rest + "scheduler: {type: asha, grace: 500}\n")), "is not before max 400");
  expect_says(error(request("config: bsae.yaml\n" + rest + "space: {optimizer.lr: [0.1]}\n")), "bsae.yaml");
  StudyRequest nothing;
  nothing.file = folder_ / "base.yaml";
  expect_says(error(nothing), "says nothing of what to vary");
}

}  // namespace
}  // namespace tessera
