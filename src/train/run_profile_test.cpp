#include "train/run_profile.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "train/run.h"

namespace tessera {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Profile made_of(std::vector<PartTime> parts, std::vector<OpTime> ops, double wall_ms) {
  return {.ops = std::move(ops), .parts = std::move(parts), .wall_ms = wall_ms};
}

TEST(ProfileAdvice, NamesWhatKeepsTheDeviceFromComputing) {
  const std::vector<OpTime> ops{{"aten::convolution", 10, 40}, {"aten::add", 10, 5}};
  const auto advice = [&](const std::string& part, double ms) {
    return profile_advice(made_of({{part, 1, ms, ms}, {"backward", 1, 40, 40}}, ops, 100), at::kCPU, "");
  };
  EXPECT_TRUE(holds(advice("data", 30), "30 % of the time goes by waiting for data"));
  EXPECT_TRUE(holds(advice("evaluation", 30), "eval.every"));
  EXPECT_TRUE(holds(advice("checkpoint", 30), "checkpoint.every"));
  EXPECT_TRUE(holds(advice("reduce", 30), "--autotune-comm"));
  EXPECT_TRUE(holds(advice("data", 10), "the longest part is backward"));
  EXPECT_EQ(profile_advice(made_of({{"data", 1, 30, 30}}, ops, 100), at::kCPU, "read 80 %"), "read 80 %");
}

TEST(ProfileAdvice, AGpuThatWaitsIsSaid) {
  const Profile idle = made_of({{"forward", 1, 20, 60}}, {{"conv", 1, 20}}, 100);
  EXPECT_TRUE(holds(profile_advice(idle, at::kCUDA, ""), "the GPU computes 20 % of the time"));
}

TEST(RunProfile, TheStepsOfARunByPartAndSegment) {
  testing::TempFolder folder;
  const Experiment e = testing::tiny_experiment({"train.duration=10ba", "eval.every=8ba", "checkpoint.every=8ba",
                                                 "run.dir=" + (folder.path() / "run").string(), "run.tensorboard=false",
                                                 "train.device=cpu", "run.pictures=0"});
  World alone;
  Hooks none;
  run_training(e, {.profile_steps = 4, .report = false}, alone, none);
  const std::string text = read_text(folder.path() / "run" / "profile" / "profile.txt");
  for (const char* part :
       {"4 steps, ", "data", "copy", "forward ", "loss", "backward", "optimizer", "evaluation", "checkpoint", "aten::"})
    EXPECT_TRUE(holds(text, part)) << part << "\n" << text;
  const auto trace = nlohmann::json::parse(read_text(folder.path() / "run" / "profile" / "trace.json"));
  EXPECT_FALSE(trace.at("traceEvents").empty());
}

}  // namespace
}  // namespace tessera
