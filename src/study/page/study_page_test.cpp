#include "study/page/study_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/files.h"
#include "study/search/random_search.h"
#include "study/space/read_space.h"

namespace tessera {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

StudyPageInput study(int64_t count, size_t objectives) {
  StudyPageInput input;
  input.info = {"<cells>", {{"mean_iou", Direction::kMaximize}, {"seconds", Direction::kMinimize}}, {}};
  input.info.objectives.resize(objectives);
  Parameter convs{.name = "model.unet.convs", .kind = Parameter::Kind::kInteger, .low = 1, .high = 4, .step = 1};
  convs.when = Condition{"model.name", {0}};
  std::vector<Parameter> parameters =
      parse_vary({"optimizer.lr=log:1e-4:1e-1", "model.name=unet,fcn_r50", "optimizer.weight_decay=uniform:0:0.1"})
          .parameters();
  parameters.push_back(convs);
  input.space = Space(parameters);
  input.unit = "ep";
  input.status = "all trials are done";
  RandomSearch search(input.space, 4);
  for (int64_t i = 0; i < count; ++i) {
    Trial trial{.number = i, .state = TrialState::kComplete, .parameters = *search.suggest(i)};
    const double best =
        0.9 - 0.1 * std::abs(std::log10(trial.parameters.at("optimizer.lr")) + 2) - 0.05 * trial.parameters.at("model.name");
    const int64_t until = i % 4 == 1 ? 3 : i % 4 == 2 ? 1 : 9;
    for (int64_t step = 1; step <= until; ++step)
      trial.reports.push_back({step, best * (1 - std::exp(-0.5 * static_cast<double>(step)))});
    trial.values = {best, 10 + 100 * trial.parameters.at("optimizer.weight_decay")};
    trial.values.resize(objectives);
    if (until < 9) trial.state = TrialState::kStopped, trial.values.clear();
    if (i % 17 == 3)
      trial = {.number = i, .state = TrialState::kFailed, .parameters = trial.parameters, .reason = "the loss is <nan>"};
    input.trials.push_back(trial);
  }
  input.best_commands = {"tessera train studies/cells/config.yaml 'optimizer.lr=0.01'"};
  return input;
}

TEST(StudyPage, ShowsEverySectionAndEscapesNames) {
  const std::string page = render_study_page(study(60, 2));
  for (const char* id : {"best", "front", "curves", "parameters", "rungs", "failed", "config", "trials"})
    EXPECT_TRUE(has(page, fmt::format("<section id=\"{}\">", id))) << id;
  EXPECT_TRUE(has(page, "&lt;cells&gt;"));
  EXPECT_FALSE(has(page, "<cells>"));
  EXPECT_TRUE(has(page, "the loss is &lt;nan&gt;"));
  EXPECT_FALSE(has(page, "\"nan"));
  EXPECT_FALSE(has(page, "inf,"));
  // With TESSERA_PAGES set it is left there, to be looked at in a browser.
  if (const char* keep = std::getenv("TESSERA_PAGES")) write_file(std::filesystem::path(keep) / "study.html", page);
}

TEST(StudyPage, LeavesOutWhatThereIsNot) {
  StudyPageInput input = study(12, 1);
  std::erase_if(input.trials, [](const Trial& t) { return t.state != TrialState::kComplete; });
  const std::string page = render_study_page(input);
  for (const char* id : {"front", "rungs", "failed"}) EXPECT_FALSE(has(page, fmt::format("<section id=\"{}\">", id))) << id;
  input.trials.clear();
  EXPECT_TRUE(has(render_study_page(input), "<h1>&lt;cells&gt;</h1>"));
  input.trials = {{.number = 0, .state = TrialState::kRunning, .parameters = {}}};
  EXPECT_TRUE(has(render_study_page(input), "1 running"));
}

TEST(StudyPage, OfThousandsOfTrialsTheBestAndTheYoungestAreDrawn) {
  const std::string page = render_study_page(study(5000, 1));
  EXPECT_TRUE(has(page, "of 5000 trials the best and the youngest 400 are drawn"));
  EXPECT_LT(page.size(), 4U << 20);
}

}  // namespace
}  // namespace tessera
