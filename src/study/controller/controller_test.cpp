#include "study/controller/controller.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "study/schedule/copies.h"
#include "support/function_executor.h"

namespace tessera {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ControllerTest : public ::testing::Test {
 public:
  ~ControllerTest() override {
    set_log_level(LogLevel::kInfo);
    fs::remove_all(folder_);
  }

 protected:
  ControllerTest() : folder_(fs::temp_directory_path() / fmt::format("controller_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    set_log_level(LogLevel::kError);
  }

  // Rates are better the nearer they are to 0.1, and all get better with the epochs.
  static double value(const FunctionExecutor::Values& values, int64_t epoch) {
    const double away = std::abs(std::log10(values.at("optimizer.lr")) + 1);
    return 1 / (1 + away) * (1 - std::exp(-static_cast<double>(epoch)));
  }

  StudyPlan plan(const std::vector<std::string>& settings) const {
    const fs::path config = folder_ / "base.yaml";
    write_file(config, std::string_view("train: {duration: 9ep}\ndata: {type: synthetic}\n"));
    StudyRequest request;
    request.file = config;
    request.vary = {"optimizer.lr=log:1e-4:1"};
    request.settings = {"name=s", "folder='" + (folder_ / "study").string() + "'"};
    request.settings.insert(request.settings.end(), settings.begin(), settings.end());
    return read_study(request);
  }
  StudyStore store(const StudyPlan& plan) const {
    const fs::path file = plan.folder / kStudyStore;
    return fs::exists(file) ? StudyStore::open(file)
                            : StudyStore::create(file, {plan.settings.name, plan.objectives, {}}, plan.space);
  }
  static ControllerOptions options() { return {.machine = {.cores = 1}, .chatty = false, .pause_s = 0}; }

  std::vector<Trial> run(const StudyPlan& plan, FunctionExecutor& executor, const ControllerOptions& how = options()) {
    StudyStore own = store(plan);
    Controller controller(plan, own, executor, how);
    end_ = controller.run();
    return own.load();
  }
  static FunctionExecutor executor() { return {value, 9}; }
  static int64_t count(const std::vector<Trial>& trials, TrialState state) {
    return std::count_if(trials.begin(), trials.end(), [&](const Trial& t) { return t.state == state; });
  }
  // What does not depend on when something was done.
  static std::string summary(const std::vector<Trial>& trials) {
    std::string text;
    for (const Trial& t : trials) {
      text += fmt::format("{} {} {} [", t.number, static_cast<int>(t.state), t.reason);
      for (const auto& [name, v] : t.parameters) text += fmt::format("{}={} ", name, v);
      for (const Report& r : t.reports) text += fmt::format("{}:{} ", r.step, r.value);
      for (const double v : t.values) text += fmt::format("-> {} ", v);
      text += "]\n";
    }
    return text;
  }

  fs::path folder_;
  StudyEnd end_;
};

TEST_F(ControllerTest, EveryTrialIsTrainedOnceAndItsBestValueKept) {
  FunctionExecutor jobs = executor();
  const std::vector<Trial> trials = run(plan({"budget.trials=5"}), jobs);
  ASSERT_EQ(trials.size(), 5U);
  EXPECT_EQ(count(trials, TrialState::kComplete), 5);
  EXPECT_EQ(jobs.started, 5);
  for (const Trial& t : trials) {
    EXPECT_EQ(t.reports.size(), 9U);
    EXPECT_DOUBLE_EQ(t.values.at(0), value({{"optimizer.lr", t.parameters.at("optimizer.lr")}}, 9));
  }
  EXPECT_TRUE(end_.complete);
  EXPECT_EQ(end_.text, "all 5 trials are done");
  EXPECT_EQ(run(plan({"budget.trials=5"}), jobs), trials);
  EXPECT_EQ(run(plan({"budget.trials=7"}), jobs).size(), 7U);  // with a larger budget it goes on
}

TEST_F(ControllerTest, AControllerThatIsKilledAnywhereLeavesTheStudyOfOneThatIsNot) {
  for (const std::string scheduler :
       {"none", "{type: asha, grace: 1, reduction: 3}", "{type: asha, grace: 1, reduction: 3, rule: promote}",
        "{type: hyperband, grace: 1}", "{type: median, grace: 2}", "{type: pbt, interval: 3, population: 4, synch: true}"}) {
    SCOPED_TRACE(scheduler);
    const std::vector<std::string> settings = {"budget.trials=12", "scheduler=" + scheduler};
    FunctionExecutor whole = executor();
    fs::remove_all(folder_ / "study");
    const std::string expected = summary(run(plan(settings), whole));
    // A call to the executor or the display that throws is a controller that died there.
    fs::remove_all(folder_ / "study");
    FunctionExecutor jobs = executor();
    int deaths = 0;
    for (int calls = 1; deaths < 1000; ++deaths) {
      int left = calls++ % 7 + 1;
      ControllerOptions dying = options();
      dying.wish = [&] {
        if (--left == 0) throw std::runtime_error("killed");
        return StudyWish::kNone;
      };
      try {
        run(plan(settings), jobs, dying);
        break;
      } catch (const std::runtime_error& e) {
        ASSERT_STREQ(e.what(), "killed");
      }
    }
    EXPECT_GT(deaths, 3);
    EXPECT_EQ(summary(run(plan(settings), jobs)), expected);
    EXPECT_EQ(jobs.started, whole.started);
  }
}

TEST_F(ControllerTest, WhatWasWrittenDownButNotStartedIsStarted) {
  // Each start dies before it, once; then after it.
  class Dying final : public Executor {
   public:
    explicit Dying(FunctionExecutor& inner) : inner_(inner) {}
    void start(const Job& job) override {
      if (++starts_ % 3 == 1) throw std::runtime_error("before");
      inner_.start(job);
      if (starts_ % 3 == 2) throw std::runtime_error("after");
    }
    JobStatus poll(const Job& job) override { return inner_.poll(job); }
    void stop(const Job& job) override { inner_.stop(job); }
    std::optional<int> most_at_once(const Job& job) const override { return inner_.most_at_once(job); }

   private:
    FunctionExecutor& inner_;
    int starts_ = 0;
  };
  FunctionExecutor jobs = executor();
  Dying dying(jobs);
  const StudyPlan asked = plan({"budget.trials=6", "scheduler={type: asha, reduction: 3}"});
  for (int deaths = 0; deaths < 200; ++deaths) {
    StudyStore own = store(asked);
    try {
      Controller(asked, own, dying, options()).run();
      break;
    } catch (const std::runtime_error&) {
    }
  }
  const std::vector<Trial> trials = store(asked).load();
  const int64_t started = jobs.started;
  fs::remove_all(folder_ / "study");
  FunctionExecutor whole = executor();
  EXPECT_EQ(summary(trials), summary(run(asked, whole)));
  EXPECT_EQ(started, whole.started);
}

TEST_F(ControllerTest, PromotedTrialsGoOnInTheirOwnFolderFromTheStepTheyPausedAt) {
  FunctionExecutor jobs = executor();
  const std::vector<Trial> trials =
      run(plan({"budget.trials=9", "scheduler={type: asha, grace: 1, reduction: 3, rule: promote}"}), jobs);
  EXPECT_EQ(count(trials, TrialState::kComplete), 1);
  EXPECT_EQ(count(trials, TrialState::kStopped), 8);
  const auto best = std::find_if(trials.begin(), trials.end(), [](const Trial& t) { return t.state == TrialState::kComplete; });
  EXPECT_EQ(best->reports.size(), 9U);
  const std::string first = fmt::format("s-{}-1", best->number), last = fmt::format("s-{}-3", best->number);
  const std::vector<std::string>&words = jobs.words.at(first), &later = jobs.words.at(last);
  EXPECT_EQ(words.at(words.size() - 1), "1ep");
  EXPECT_EQ(words.at(words.size() - 2), "--stop-at");
  EXPECT_EQ(later.at(later.size() - 1), "9ep");
  EXPECT_EQ(
      std::count(later.begin(), later.end(), "run.dir=" + (folder_ / "study/trials" / std::to_string(best->number)).string()),
      1);
  EXPECT_EQ(std::count(later.begin(), later.end(), "--resume"), 1);
}

TEST_F(ControllerTest, FailuresAreRecordedRetriedWhereThatHelpsAndEndNothing) {
  FunctionExecutor jobs([](const FunctionExecutor::Values& values,
                           int64_t epoch) { return values.at("optimizer.lr") > 0.3 ? kNan : value(values, epoch); },
                        9);
  jobs.exit_codes = {{"s-1-1", 137}, {"s-2-1", 1}, {"s-3-1", 2}, {"s-4-1", 139}, {"s-4-2", 139}, {"s-4-3", 139}};
  const std::vector<Trial> trials = run(plan({"budget.trials=8"}), jobs);
  ASSERT_EQ(trials.size(), 8U);
  EXPECT_EQ(trials[1].state, TrialState::kComplete);  // killed once
  EXPECT_EQ(trials[2].state, TrialState::kFailed);
  EXPECT_EQ(trials[2].reason, "told to fail");
  EXPECT_EQ(trials[3].state, TrialState::kFailed);
  EXPECT_EQ(trials[4].state, TrialState::kFailed);  // 2 retries
  EXPECT_EQ(trials[4].reason, "it was ended by signal 11 (SEGV)");
  for (const Trial& t : trials) {
    if (t.parameters.at("optimizer.lr") > 0.3 && t.reason.empty()) ADD_FAILURE() << t.number;
  }
  EXPECT_TRUE(end_.complete);
}

TEST_F(ControllerTest, BudgetsEndAStudyAndLargerOnesGoOn) {
  FunctionExecutor jobs = executor();
  const std::vector<Trial> patient = run(plan({"budget.patience=4"}), jobs);
  int64_t best = 0;
  for (const Trial& t : patient) best = t.values.at(0) > patient[static_cast<size_t>(best)].values.at(0) ? t.number : best;
  EXPECT_EQ(static_cast<int64_t>(patient.size()), best + 5);
  EXPECT_EQ(end_.text, "nothing better came in 4 trials");

  fs::remove_all(folder_ / "study");
  FunctionExecutor others = executor();
  run(plan({"budget.time=0.000001s", "budget.trials=3"}), others);
  EXPECT_EQ(end_.text, "its time is used up");
  EXPECT_EQ(run(plan({"budget.time=1h", "budget.trials=3"}), others).size(), 3U);
}

TEST_F(ControllerTest, StoppedTrialsGoOnWithTheNextStart) {
  FunctionExecutor jobs = executor();
  jobs.holds = true;
  ControllerOptions impatient = options();
  int looks = 0;
  impatient.machine.cores = 8;
  impatient.wish = [&] { return ++looks > 3 ? StudyWish::kStopTrials : StudyWish::kNone; };
  std::vector<Trial> trials = run(plan({"budget.trials=5", "resources.at_once=3"}), jobs, impatient);
  EXPECT_EQ(trials.size(), 3U);
  EXPECT_EQ(count(trials, TrialState::kRunning), 3);
  EXPECT_FALSE(end_.complete);
  EXPECT_EQ(end_.text, "stopped; 3 trials wait to go on with the same command");
  jobs.holds = false;
  trials = run(plan({"budget.trials=5", "resources.at_once=3"}), jobs);
  EXPECT_EQ(count(trials, TrialState::kComplete), 5);
  EXPECT_EQ(jobs.started, 8);
}

TEST_F(ControllerTest, JobsThatRunOnAreFoundAgain) {
  FunctionExecutor jobs = executor();
  jobs.holds = true;
  ControllerOptions leaving = options();
  int looks = 0;
  leaving.wish = [&] { return ++looks > 3 ? StudyWish::kLeave : StudyWish::kNone; };
  EXPECT_EQ(run(plan({"budget.trials=2"}), jobs, leaving).size(), 1U);
  EXPECT_EQ(end_.text, "left; 1 trials run on, and the same command finds them again");
  jobs.lose("s-0-1");  // its machine failed
  jobs.holds = false;
  const std::vector<Trial> trials = run(plan({"budget.trials=2"}), jobs);
  EXPECT_EQ(count(trials, TrialState::kComplete), 2);
  EXPECT_EQ(jobs.started, 3);
}

TEST_F(ControllerTest, WhatTrialsNeedIsKnownToTheNextController) {
  FunctionExecutor jobs = executor();
  jobs.memory_mb = 5000;
  ControllerOptions one_gpu = options();
  one_gpu.machine = {.cores = 8, .gpu_memory_mb = {24000}};
  std::vector<int> at_once;
  one_gpu.show = [&](const StudyView& view) { at_once.push_back(view.at_once); };
  run(plan({"budget.trials=2"}), jobs, one_gpu);
  EXPECT_EQ(at_once.front(), 1);  // until one was seen
  EXPECT_EQ(at_once.back(), 3);
  at_once.clear();
  run(plan({"budget.trials=4"}), jobs, one_gpu);
  EXPECT_EQ(at_once.front(), 3);
}

TEST_F(ControllerTest, ATrialThatOthersStopGoesOnAsLongAsItSaves) {
  FunctionExecutor jobs = executor();
  for (const char* job : {"s-0-1", "s-0-2", "s-1-1", "s-1-2", "s-1-3"}) jobs.exit_codes[job] = 143;
  const std::vector<Trial> trials = run(plan({"budget.trials=2", "retries=2"}), jobs);
  EXPECT_EQ(trials.at(0).state, TrialState::kComplete);
  EXPECT_EQ(trials.at(1).state, TrialState::kFailed);
  EXPECT_EQ(trials.at(1).reason, "it was stopped 3 times in a row without a new checkpoint: told to fail");
}

TEST_F(ControllerTest, AJobThatSomebodyCancelsIsNotStartedAgain) {
  FunctionExecutor jobs = executor();
  jobs.exit_codes["s-0-1"] = 143;
  jobs.reason = "CANCELLED";
  const std::vector<Trial> trials = run(plan({"budget.trials=2"}), jobs);
  EXPECT_EQ(trials.at(0).state, TrialState::kFailed);
  EXPECT_EQ(trials.at(0).reason, "its job was cancelled");
  EXPECT_EQ(trials.at(1).state, TrialState::kComplete);
}

TEST_F(ControllerTest, MoneyIsCountedByWhatTrialsRunOnAndEndsTheStudy) {
  const std::vector<std::string> settings = {"budget.trials=9", "budget.cost=1e-9", "prices={device_hour: {cpu: 3600}}"};
  FunctionExecutor jobs = executor();
  jobs.device = "cpu";
  std::vector<Trial> trials = run(plan(settings), jobs);
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_EQ(end_.text, "its money is used up");
  const double seconds = trials[0].attributes.at("seconds");
  EXPECT_GT(seconds, 0);
  EXPECT_DOUBLE_EQ(trials[0].attributes.at("cost"), seconds);  // one a second
  EXPECT_EQ(run(plan(settings), jobs).size(), 1U);             // also for the next controller
  FunctionExecutor elsewhere = executor();
  elsewhere.device = "another device";
  fs::remove_all(folder_ / "study");
  EXPECT_THROW(run(plan(settings), elsewhere), UsageError);
}

TEST_F(ControllerTest, EarlierTrialsAreLearnedFrom) {
  FunctionExecutor jobs = executor();
  ControllerOptions knowing = options();
  knowing.earlier = run(plan({"budget.trials=30"}), jobs);
  for (Trial& trial : knowing.earlier) trial.number -= std::ssize(knowing.earlier);
  fs::remove_all(folder_ / "study");
  FunctionExecutor again = executor();
  const std::vector<Trial> trials = run(plan({"budget.trials=3", "search=tpe"}), again, knowing);
  ASSERT_EQ(trials.size(), 3U);
  // Without them these would be Sobol's first points, which are spread over four decades.
  for (const Trial& t : trials) EXPECT_NEAR(std::log10(t.parameters.at("optimizer.lr")), -1, 0.7);
}

TEST_F(ControllerTest, AMetricThatEvaluationsLackIsSaidWithThoseTheyHave) {
  FunctionExecutor jobs = executor();
  try {
    run(plan({"budget.trials=2", "objectives=[mean_iuo]"}), jobs);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("no metric 'mean_iuo', did you mean 'mean_iou'?"), std::string::npos) << e.what();
  }
}

TEST_F(ControllerTest, FactsOfTheTrainingAreObjectivesToo) {
  FunctionExecutor jobs = executor();
  const std::vector<Trial> trials =
      run(plan({"budget.trials=2", "objectives=[mean_iou, minimize seconds, minimize parameters]"}), jobs);
  ASSERT_EQ(trials.at(0).values.size(), 3U);
  EXPECT_DOUBLE_EQ(trials[0].values[1], 2.25);
  EXPECT_DOUBLE_EQ(trials[0].values[2], 1000);
}

}  // namespace
}  // namespace tessera
