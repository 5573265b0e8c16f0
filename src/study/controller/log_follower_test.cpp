#include "study/controller/log_follower.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "core/files.h"

namespace tessera {
namespace {

class LogFollowerTest : public ::testing::Test {
 protected:
  LogFollowerTest() : file_(fs::temp_directory_path() / fmt::format("log_follower_{}.jsonl", ::getpid())) { fs::remove(file_); }
  ~LogFollowerTest() override { fs::remove(file_); }
  void append(const std::string& text) const { std::ofstream(file_, std::ios::app) << text; }

  fs::path file_;
};

TEST_F(LogFollowerTest, TakesWhatIsNewAndWaitsForLinesToEnd) {
  LogFollower log(file_, {"mean_iou", "iou/road"});
  log.read();
  EXPECT_TRUE(log.evaluations().empty());
  append("{\"type\":\"start\",\"time\":5,\"parameters\":70,\"total_steps\":40}\n{\"type\":\"train\",\"step\":3,\"time\":6,");
  log.read();
  EXPECT_EQ(log.step(), 0);
  EXPECT_EQ(log.total_steps(), 40);
  append("\"memory_mb\":12.5,\"images_per_s\":3}\n");
  append(
      "{\"type\":\"eval\",\"step\":4,\"epoch\":1.0,\"time\":7,\"metrics\":{\"mean_iou\":0.25},\"per_class\":[{\"name\":"
      "\"road\",\"iou\":0.5}]}\n");
  append("no line at all\n{\"type\":\"eval\",\"step\":8,\"epoch\":2,\"metrics\":{\"mean_iou\":null}}\n");
  log.read();
  EXPECT_EQ(log.step(), 8);
  EXPECT_EQ(log.memory_mb(), 12.5);
  EXPECT_EQ(log.parameters(), 70);
  ASSERT_EQ(log.evaluations().size(), 2U);
  EXPECT_EQ(log.evaluations()[0].values, (std::vector<double>{0.25, 0.5}));
  EXPECT_TRUE(std::isnan(log.evaluations()[1].values[0]));
  EXPECT_EQ(log.status(), "");
  append(
      "{\"type\":\"warning\",\"text\":\"the loss is "
      "nan\"}\n{\"type\":\"end\",\"status\":\"diverged\",\"seconds\":9,\"time\":11}\n");
  log.read();
  EXPECT_EQ(log.status(), "diverged");
  EXPECT_EQ(log.warning(), "the loss is nan");
  EXPECT_EQ(log.seconds(), 9);
  EXPECT_EQ(log.last_time(), 11);
  append("{\"type\":\"resume\",\"step\":4}\n");
  log.read();
  EXPECT_EQ(log.status(), "");
  EXPECT_EQ(log.warning(), "");
}

TEST_F(LogFollowerTest, ALogThatIsBegunAnewIsReadAnew) {
  LogFollower log(file_, {"mean_iou"});
  append("{\"type\":\"eval\",\"step\":4,\"metrics\":{\"mean_iou\":0.25}}\n{\"type\":\"end\",\"status\":\"failed\"}\n");
  log.read();
  EXPECT_EQ(log.evaluations().size(), 1U);
  fs::remove(file_);
  append("{\"type\":\"start\"}\n");
  log.read();
  EXPECT_TRUE(log.evaluations().empty());
  EXPECT_EQ(log.status(), "");
}

}  // namespace
}  // namespace tessera
