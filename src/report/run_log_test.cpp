#include "report/run_log.h"

#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/secrets.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using nlohmann::json;

void write_raw(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::app) << text;
}

TEST(RunLog, LeavesSecretsOutAndIsForWhomItSays) {
  const testing::TempFolder folder;
  hide_secret("RUN_LOG_TEST_TOKEN", "se\"same open");  // a quote, which JSON escapes
  {
    RunLog log(folder / "log.jsonl", Access::kPrivate);
    log.event("bad_sample", {{"id", "a"}, {"reason", "/data/se\"same open/a.png: gone"}, {"more", {"http://u:w0rd@h/m?t=1"}}});
  }
  const json line = json::parse(read_lines(folder / "log.jsonl").at(0));
  EXPECT_EQ(line.at("reason"), "/data/${RUN_LOG_TEST_TOKEN}/a.png: gone");
  EXPECT_EQ(line.at("more").at(0), "http://***@h/m?t=***");
  EXPECT_EQ(fs::status(folder / "log.jsonl").permissions(), fs::perms(0600));
}

TEST(RunLog, AddsTypeAndTimeToEachLine) {
  const testing::TempFolder folder;
  const auto before = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  {
    RunLog log(folder / "log.jsonl");
    log.event("start");
    log.event("train", {{"step", 10}, {"loss", 1.5}});
  }
  const auto lines = read_lines(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(json::parse(lines[0]).at("type"), "start");
  const json train = json::parse(lines[1]);
  EXPECT_EQ(train.at("step"), 10);
  EXPECT_EQ(train.at("loss"), 1.5);
  const double time = train.at("time");
  EXPECT_NEAR(time, before, 60);
  EXPECT_NEAR(time * 1000, std::round(time * 1000), 1e-3);  // whole milliseconds
}

TEST(RunLog, OpeningAgainAppends) {
  const testing::TempFolder folder;
  RunLog(folder / "log.jsonl").event("start");
  RunLog(folder / "log.jsonl").event("resume", {{"step", 3}});
  EXPECT_EQ(read_lines(folder / "log.jsonl").size(), 2U);
}

TEST(RunLog, EndsATornLineBeforeTheNext) {
  const testing::TempFolder folder;
  write_raw(folder / "log.jsonl", "{\"type\":\"start\"}\n{\"type\":\"tra");
  RunLog(folder / "log.jsonl").event("resume", {{"step", 3}});
  const auto lines = read_lines(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1], "{\"type\":\"tra");
  EXPECT_EQ(json::parse(lines[2]).at("type"), "resume");
}

TEST(RunLog, WritesNumbersThatAreNotFiniteAsNullAndBadUtf8AsReadable) {
  const testing::TempFolder folder;
  const double infinity = std::numeric_limits<double>::infinity();
  RunLog(folder / "log.jsonl").event("train", {{"loss", NAN}, {"grad_norm", infinity}, {"id", "\xff.png"}});
  const json line = json::parse(read_lines(folder / "log.jsonl").at(0));
  EXPECT_TRUE(line.at("loss").is_null());
  EXPECT_TRUE(line.at("grad_norm").is_null());
  EXPECT_EQ(line.at("id"), "\xEF\xBF\xBD.png");
}

TEST(RunLog, LinesOfManyThreadsStayWhole) {
  const testing::TempFolder folder;
  {
    RunLog log(folder / "log.jsonl");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&log] {
        for (int i = 0; i < 50; ++i) log.event("train", {{"step", i}, {"filler", std::string(500, 'x')}});
      });
    }
  }
  const auto lines = read_lines(folder / "log.jsonl");
  EXPECT_EQ(lines.size(), 200U);
  for (const auto& line : lines) EXPECT_TRUE(json::accept(line));
}

TEST(RunLog, SaysWhichFileCannotBeOpenedOrWritten) {
  EXPECT_CONTAINS(testing::message_of([] { RunLog("/nowhere/log.jsonl"); }), "/nowhere/log.jsonl");
  if (fs::exists("/dev/full")) {
    RunLog full("/dev/full");
    EXPECT_THROW(full.event("train", {{"step", 1}}), Error);
  }
}

TEST(RunLog, IsBegunAgainWhereItsFolderIsRemoved) {
  const testing::TempFolder folder;
  std::filesystem::create_directories(folder / "run");
  RunLog log(folder / "run/log.jsonl");
  log.event("start");
  std::filesystem::remove_all(folder / "run");
  log.event("train", {{"step", 7}});
  std::ifstream file(folder / "run/log.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  EXPECT_EQ(nlohmann::json::parse(line).at("step"), 7);
}

}  // namespace
}  // namespace tessera
