#include "study/prices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

TEST(Prices, TheLongestNameThatFitsCounts) {
  const Prices prices{.currency = "EUR", .device_hour = {{"h100", 2.5}, {"H100 NVL", 3}, {"cpu", 0.04}}};
  EXPECT_EQ(price_of(prices, "NVIDIA H100 80GB HBM3"), 2.5);
  EXPECT_EQ(price_of(prices, "NVIDIA H100 NVL"), 3);
  EXPECT_EQ(price_of(prices, "cpu"), 0.04);
  EXPECT_EQ(price_of(prices, "NVIDIA A100"), std::nullopt);
}

TEST(Prices, AreReadFromAFile) {
  const fs::path file = fs::temp_directory_path() / fmt::format("prices_{}.yaml", ::getpid());
  write_file(file, std::string_view("currency: CHF\ndevice_hour: {V100: 1.5}\n"));
  const Prices prices = read_prices(file);
  EXPECT_EQ(prices.currency, "CHF");
  EXPECT_EQ(price_of(prices, "Tesla V100-SXM2"), 1.5);
  write_file(file, std::string_view("device_hour: {V100: -1}\n"));
  EXPECT_THROW(read_prices(file), UsageError);
  write_file(file, std::string_view("device_hours: {V100: 1}\n"));
  EXPECT_THROW(read_prices(file), UsageError);
  fs::remove(file);
}

}  // namespace
}  // namespace tessera
