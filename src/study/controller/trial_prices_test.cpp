#include "study/controller/trial_prices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

class TrialPricesTest : public ::testing::Test {
 protected:
  TrialPricesTest() : folder_(fs::temp_directory_path() / fmt::format("trial_prices_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TrialPricesTest() override { fs::remove_all(folder_); }
  void runs_on(const std::string& device) const {
    write_file(folder_ / "environment.json", fmt::format(R"({{"device":"{}","cpu":"a CPU","gpus":["NVIDIA H200"]}})", device));
  }
  fs::path folder_;
  const Prices prices_{.currency = "EUR", .device_hour = {{"H200", 3.6}}};
};

TEST_F(TrialPricesTest, AreThoseOfWhatTheRunSays) {
  TrialPrices two(prices_, 2, /*needed=*/true);
  EXPECT_EQ(two.per_second(folder_), std::nullopt);
  EXPECT_EQ(two.usual_per_second(), 0);
  runs_on("cuda:0");
  EXPECT_DOUBLE_EQ(two.per_second(folder_).value(), 2 * 0.001);
  EXPECT_DOUBLE_EQ(two.usual_per_second(), 2 * 0.001);
}

TEST_F(TrialPricesTest, WhereMoneyIsTheLimitEveryDeviceNeedsOne) {
  runs_on("cpu");
  EXPECT_THROW(TrialPrices(prices_, 1, /*needed=*/true).per_second(folder_), UsageError);
  EXPECT_EQ(TrialPrices(prices_, 1, /*needed=*/false).per_second(folder_), 0);
  EXPECT_EQ(TrialPrices(std::nullopt, 1, /*needed=*/false).per_second(folder_), 0);
}

}  // namespace
}  // namespace tessera
