#include "study/scale/run_figures.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "core/files.h"

namespace tessera {
namespace {

class RunFiguresTest : public ::testing::Test {
 protected:
  RunFiguresTest() : folder_(fs::temp_directory_path() / fmt::format("run_figures_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~RunFiguresTest() override { fs::remove_all(folder_); }
  void log(const std::string& lines) const { write_file(folder_ / "log.jsonl", lines); }
  fs::path folder_;
};

std::string train(int step, double images_per_s, double memory = 100, double exchange = 0, double wait = 0) {
  return fmt::format(R"({{"type":"train","step":{},"images_per_s":{},"memory_mb":{},"data_wait":0.25{}}})", step, images_per_s,
                     memory, exchange > 0 ? fmt::format(R"(,"exchange_ms":{},"exchange_wait_ms":{})", exchange, wait) : "") +
         "\n";
}

constexpr const char* kStart =
    R"({"type":"start","steps_per_epoch":10,"total_steps":20,"parameters":77,"best_metric":"mean_f1"})"
    "\n";

TEST_F(RunFiguresTest, NothingOfARunThatHasNotBegun) {
  EXPECT_FALSE(run_figures(folder_, 8).has_value());
}

TEST_F(RunFiguresTest, TakesMediansWithoutTheFirstSteps) {
  log(kStart + train(1, 1) + train(10, 40, 300, 8, 2) + R"({"type":"resume","step":10})" + "\n" + train(11, 2) +
      train(15, 50, 200, 8, 6) + train(20, 60, 200, 8, 4) + R"({"type":"eval","step":10,"epoch":1,"metrics":{"mean_f1":0.5}})" +
      "\n" + R"({"type":"eval","step":15,"epoch":1.5,"metrics":{"mean_f1":0.9}})" + "\n" +
      R"({"type":"eval","step":20,"epoch":2,"metrics":{"mean_f1":0.8}})" + "\n" +
      R"({"type":"end","status":"done","seconds":12})" + "\n");
  write_file(folder_ / "environment.json", std::string_view(R"({"device":"cpu","cpu":"a CPU"})"));
  const RunFigures figures = run_figures(folder_, 8).value();
  EXPECT_TRUE(figures.done);
  EXPECT_EQ(figures.steps, 20);
  EXPECT_EQ(figures.images_per_s, 50);
  EXPECT_DOUBLE_EQ(figures.epoch_s, 10 * 8 / 50.0);
  EXPECT_EQ(figures.train_s, 12);
  EXPECT_EQ(figures.hidden_share, 0.5);
  EXPECT_EQ(figures.memory_mb, 300);
  EXPECT_EQ(figures.data_wait, 0.25);
  EXPECT_EQ(figures.metric, "mean_f1");
  EXPECT_EQ(figures.last, 0.8);
  EXPECT_EQ(figures.best, 0.9);
  EXPECT_EQ(figures.machine.device, "cpu");
  EXPECT_EQ(epoch_of(figures, 0.85), 1.5);
  EXPECT_TRUE(std::isnan(epoch_of(figures, 0.95)));
}

TEST_F(RunFiguresTest, WhatHasJustBegunHasNoNumbers) {
  log(kStart);
  const RunFigures figures = run_figures(folder_, 8).value();
  EXPECT_FALSE(figures.done);
  EXPECT_TRUE(std::isnan(figures.images_per_s));
}

}  // namespace
}  // namespace tessera
