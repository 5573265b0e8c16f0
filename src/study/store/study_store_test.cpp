#include "study/store/study_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "study/space/read_space.h"
#include "study/space/space_json.h"
#include "study/store/database.h"
#include "study/store/distribution.h"
#include "study/store/optuna_tables.h"

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class StudyStoreTest : public ::testing::Test {
 public:
  ~StudyStoreTest() override { fs::remove_all(folder_); }

 protected:
  StudyStoreTest() : folder_(fs::temp_directory_path() / fmt::format("study_store_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  static Space space() {
    return parse_vary({"optimizer.lr=log:1e-4:1e-1", "model.name=unet,fcn", "train.batch_size=integer:2:8:2",
                       "eval.threshold=normal:0.5:0.1"});
  }
  StudyStore made(const std::string& name = "a") const {
    return StudyStore::create(file(), {name, {{"mean_iou", Direction::kMaximize}}, {{"config", "x.yaml"}}}, space());
  }
  static Trial trial(int64_t number, TrialState state = TrialState::kRunning) {
    return {.number = number,
            .state = state,
            .parameters = {{"eval.threshold", 0.25}, {"model.name", 1}, {"optimizer.lr", 0.003}, {"train.batch_size", 4}}};
  }
  fs::path file() const { return folder_ / "study.db"; }

  fs::path folder_;
};

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(StudyStoreTest, GivesBackWhatItWasTold) {
  std::vector<Trial> told;
  {
    StudyStore store = made();
    EXPECT_EQ(store.add(trial(-1)), 0);
    EXPECT_EQ(store.add(trial(-1, TrialState::kWaiting)), 1);
    EXPECT_EQ(store.add(trial(-1)), 2);
    told = {trial(0), trial(1, TrialState::kWaiting), trial(2)};
    told[0].attributes = {{"folder", "trials/0"}, {"seconds", 2.5}};
    told[0].reports = {{10, 0.25}, {20, -kInfinity}};
    store.update(told[0]);
    told[0].reports.push_back({30, 0.5});
    told[0].values = {0.5};
    told[0].state = TrialState::kComplete;
    told[0].attributes.erase("seconds");
    store.update(told[0]);
    told[2].state = TrialState::kFailed;
    told[2].reason = "out of memory";
    store.update(told[2]);
    EXPECT_EQ(store.load(), told);
  }
  const StudyStore again = StudyStore::open(file());
  EXPECT_EQ(again.load(), told);
  EXPECT_EQ(again.info().name, "a");
  EXPECT_EQ(again.info().objectives.at(0).metric, "mean_iou");
  EXPECT_EQ(again.info().objectives.at(0).direction, Direction::kMaximize);
  EXPECT_EQ(again.info().attributes, (nlohmann::json{{"config", "x.yaml"}}));
  EXPECT_EQ(space_json(again.space()), space_json(space()));
}

TEST_F(StudyStoreTest, ReportsThatWereTakenBackAreGone) {
  StudyStore store = made();
  Trial t = trial(store.add(trial(-1)));
  t.reports = {{10, 1}, {20, 2}, {30, 3}};
  store.update(t);
  t.reports = {{10, 1}, {25, 7}};
  store.update(t);
  EXPECT_EQ(store.load().at(0).reports, t.reports);
}

TEST_F(StudyStoreTest, PausedTrialsGoOn) {
  StudyStore store = made();
  Trial t = trial(store.add(trial(-1)));
  for (const TrialState state : {TrialState::kPaused, TrialState::kRunning, TrialState::kPaused, TrialState::kStopped}) {
    t.state = state;
    store.update(t);
    EXPECT_EQ(StudyStore::open(file()).load().at(0).state, state);
  }
}

TEST_F(StudyStoreTest, TrialsAreReadOneByOneAndInTurn) {
  constexpr int64_t kTrials = 11;
  StudyStore store = made(), other = made("other");
  for (int64_t i = 0; i < kTrials; ++i) {
    Trial t = trial(-1, i % 3 == 0 ? TrialState::kPaused : TrialState::kStopped);
    t.reports = {{1, 0.5 * static_cast<double>(i)}};
    store.add(t);
    if (i % 4 == 0) other.add(trial(-1));
  }
  const std::vector<Trial> all = store.load();
  ASSERT_EQ(std::ssize(all), kTrials);
  const StudyStore later = StudyStore::open(file(), store.info().name);
  for (const StudyStore* one : std::array<const StudyStore*, 2>{&store, &later}) {
    std::vector<Trial> in_turn;
    one->each([&](Trial t) { in_turn.push_back(std::move(t)); }, 4);
    EXPECT_EQ(in_turn, all);
    for (const int64_t number : {int64_t{0}, int64_t{1}, kTrials - 1})
      EXPECT_EQ(one->load(number), all[static_cast<size_t>(number)]);
    EXPECT_TRUE(says(error_of([&] { one->load(kTrials); }), "has no trial 11"));
  }
}

TEST_F(StudyStoreTest, WhoOpensItLaterGoesOnWithItsTrials) {
  made().add(trial(-1));
  StudyStore store = StudyStore::open(file());
  Trial t = trial(0);
  t.reports = {{1, kNan}};
  store.update(t);
  EXPECT_TRUE(std::isnan(store.load().at(0).reports.at(0).value));
  EXPECT_EQ(store.add(trial(-1)), 1);
}

TEST_F(StudyStoreTest, HoldsSeveralStudies) {
  StudyStore a = made("a"), b = made("b");
  EXPECT_EQ(a.add(trial(-1)), 0);
  EXPECT_EQ(b.add(trial(-1)), 0);
  EXPECT_EQ(a.add(trial(-1)), 1);
  EXPECT_EQ(b.load().size(), 1U);
  EXPECT_EQ(StudyStore::names_in(file()), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()); }), "holds 2 studies: a, b; say which one"));
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file(), "c"); }), "no study 'c'"));
  EXPECT_TRUE(says(error_of([&] { made("b"); }), "a study 'b' already"));
}

TEST_F(StudyStoreTest, SaysWhatIsWrongWithAFile) {
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()); }), "the file is missing"));
  write_file(file(), std::string_view("this is a text of more than sixteen bytes, and no database at all"));
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()); }), "is no SQLite file"));
  fs::remove(file());
  write_file(file(), std::string_view(""));
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()); }), "holds no study"));
}

TEST_F(StudyStoreTest, WhoWasKilledWhileItWasMadeLeftNoStudy) {
  write_file(file(), std::string_view(""));  // as sqlite3 leaves a file before its first transaction
  EXPECT_FALSE(StudyStore::is_begun(file()));
  {
    Database database(file(), Database::Mode::kMake);
    make_optuna_tables(database, file().string());
  }
  EXPECT_FALSE(StudyStore::is_begun(file()));
  made();
  EXPECT_TRUE(StudyStore::is_begun(file()));
  EXPECT_EQ(StudyStore::names_in(file()).size(), 1U);
}

TEST_F(StudyStoreTest, SaysThatAFileIsDamaged) {
  {
    StudyStore store = made();
    for (int i = 0; i < 200; ++i) store.add(trial(-1));
  }
  std::string text = read_text(file());
  for (size_t i = 8192; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  write_file(file(), text);
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()).load(); }), "is damaged"));
}

TEST_F(StudyStoreTest, SaysThatAnotherVersionMadeIt) {
  made();
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &handle), SQLITE_OK);
  sqlite3_exec(handle, "UPDATE alembic_version SET version_num = 'v9.9.9.a'", nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  EXPECT_TRUE(says(error_of([&] { StudyStore::open(file()); }), "of another version of Optuna: its tables are v9.9.9.a"));
}

TEST_F(StudyStoreTest, AFullDiskLosesNothing) {
  StudyStore store = made();
  Trial t = trial(store.add(trial(-1)));
  t.reports = {{1, 0.5}};
  store.update(t);
  const std::vector<Trial> before = store.load();
  // A limit of the file's size does what a full disk does.
  struct rlimit old {};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tight { fs::file_size(file()), old.rlim_max };
  setrlimit(RLIMIT_FSIZE, &tight);
  t.attributes["long"] = std::string(100000, 'x');
  const std::string error = error_of([&] { store.update(t); });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(says(error, "could not be")) << error;
  EXPECT_EQ(store.load(), before);
  store.update(t);
  EXPECT_EQ(store.load().at(0), t);
}

TEST_F(StudyStoreTest, SaysThatAFileCannotBeWritten) {
  // Where root may not write either.
  const std::string error = error_of([] { StudyStore::create("/proc/self/study.db", {"a", {{"mean_iou"}}}, space()); });
  EXPECT_TRUE(says(error, "cannot be written")) << error;
}

// "inf" where JSON has no number.
nlohmann::json json_number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(fmt::format("{}", value));
}

// A study of 30 trials in every state but `without`, and what it should be read as.
nlohmann::json write_study(const fs::path& file, const StudyInfo& info, std::optional<TrialState> without) {
  const Space space = parse_vary({"lr=log:1e-4:1e-1", "name=unet,fcn,true,3,2.5,null", "size=integer:2:8:2",
                                  "points=log_integer:1:100", "share=uniform:0:1:0.25", "mean=normal:0:1"});
  StudyStore store = StudyStore::create(file, info, space);
  nlohmann::json expected = nlohmann::json::array();
  const std::array<TrialState, 6> states = {TrialState::kComplete, TrialState::kStopped, TrialState::kFailed,
                                            TrialState::kRunning,  TrialState::kPaused,  TrialState::kWaiting};
  for (int i = 0; i < 30; ++i) {
    Trial t{.state = TrialState::kWaiting};
    for (const Parameter& p : space.parameters())
      t.parameters[p.name] = p.at_share((i * 0.37 + 0.1) - std::floor(i * 0.37 + 0.1));
    t.number = store.add(t);
    t.state = states[static_cast<size_t>(i) % states.size()];
    if (t.state == without) t.state = TrialState::kFailed;
    for (int step = 0; step < i && t.state != TrialState::kWaiting; ++step)
      t.reports.push_back({step * 10, i == 7 && step == 3 ? kNan : i == 8 && step == 3 ? kInfinity : 1.0 / (step + i)});
    if (t.state == TrialState::kComplete) t.values = {i == 6 ? kInfinity : 3.0 + i, i * 0.125};
    t.values.resize(std::min(t.values.size(), info.objectives.size()));
    if (t.state == TrialState::kFailed) t.reason = "it \"broke\"";
    t.attributes["folder"] = fmt::format("trials/{}", i);
    store.update(t);
    nlohmann::json reports = nlohmann::json::array();
    for (const Report& r : t.reports) reports.push_back({r.step, json_number(r.value)});
    nlohmann::json values = nlohmann::json::array();
    for (const double v : t.values) values.push_back(json_number(v));
    nlohmann::json parameters;
    for (const auto& [name, value] : t.parameters) {
      const Parameter& p = space.at(name);
      parameters[name] = p.kind == Parameter::Kind::kChoice
                             ? nlohmann::json::parse(p.choices.at(static_cast<size_t>(value)).value)
                             : nlohmann::json(value);
    }
    expected.push_back({{"state", static_cast<int>(t.state)},
                        {"parameters", parameters},
                        {"reports", reports},
                        {"values", values},
                        {"folder", t.attributes["folder"]},
                        {"reason", t.reason}});
  }
  EXPECT_EQ(store.load().size(), 30U);
  return expected;
}

// With TESSERA_INTEROP_OUT set, leaves two studies there for tests/interop/check_optuna.py, which reads them with Optuna and
// compares them with the JSON files. Optuna's own samplers take no stopped trials where there are two objectives.
TEST(OptunaDistribution, RangesThatAreNoneAreRefused) {
  const auto message = [](const std::string& text) { return error_of([&] { parameter_of("lr", text); }); };
  const auto numbers = [](const std::string& attributes) {
    return "{\"name\": \"FloatDistribution\", \"attributes\": " + attributes + "}";
  };
  EXPECT_EQ(message(numbers(R"({"step": null, "low": 0.1, "high": 0.5, "log": true})")), "");
  EXPECT_NE(message(R"({"name": "CategoricalDistribution", "attributes": {"choices": []}})").find("lr has no choices"),
            std::string::npos);
  for (const char* attributes :
       {R"({"step": null, "low": 0.5, "high": 0.1, "log": false})", R"({"step": -1, "low": 0, "high": 4, "log": false})",
        R"({"step": null, "low": 0, "high": 1, "log": true})"})
    EXPECT_NE(message(numbers(attributes)).find("is no range"), std::string::npos) << attributes;
}

TEST(StudyInterop, WritesStudiesForOptuna) {
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  const fs::path folder =
      keep != nullptr ? fs::path(keep) / "study" : fs::temp_directory_path() / fmt::format("study_interop_{}", ::getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  const Objective metric{"mean_iou", Direction::kMaximize}, seconds{"seconds", Direction::kMinimize};
  write_file(folder / "one.json", write_study(folder / "study.db", {"one", {metric}}, {}).dump());
  write_file(folder / "two.json", write_study(folder / "study.db", {"two", {metric, seconds}}, TrialState::kStopped).dump());
  if (keep == nullptr) fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera
