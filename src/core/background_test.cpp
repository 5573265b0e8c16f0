#include "core/background.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace tessera {
namespace {

TEST(Background, JobsRunInOrderOnAnotherThread) {
  Background background;
  std::vector<int> done;
  std::thread::id worker;
  for (int i = 0; i < 100; ++i) {
    background.start([&, i] {
      done.push_back(i);
      worker = std::this_thread::get_id();
    });
  }
  background.wait();
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[i], i);
  EXPECT_NE(worker, std::this_thread::get_id());
}

TEST(Background, TheCallerGoesOnMeanwhile) {
  Background background;
  std::mutex held;
  bool done = false;
  std::unique_lock lock(held);
  background.start([&] {
    const std::lock_guard wait_for_caller(held);
    done = true;
  });
  EXPECT_FALSE(done);
  lock.unlock();
  background.wait();
  EXPECT_TRUE(done);
}

TEST(Background, WhatAJobThrowsReachesTheCallerOnce) {
  Background background;
  background.start([] { throw std::runtime_error("no"); });
  EXPECT_THROW(background.wait(), std::runtime_error);
  background.wait();
  background.start([] { throw std::runtime_error("no"); });
  EXPECT_THROW(background.start([] {}), std::runtime_error);
}

TEST(Background, TheLastJobIsDoneBeforeItEnds) {
  int done = 0;
  {
    Background background;
    background.start([&] { ++done; });
  }
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace tessera
