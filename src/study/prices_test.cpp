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

TEST(Prices, StandInAStudyOrInAFileBesideIt) {
  const fs::path file = fs::temp_directory_path() / fmt::format("prices_{}.yaml", ::getpid());
  const auto written = [](const std::string& text) { return *parse_config("prices: " + text, "study.yaml").find("prices"); };
  const auto read = [&](const std::string& text) { return read_prices(prices_section(written(text), file.parent_path())); };
  write_file(file, std::string_view("currency: CHF\ndevice_hour: {V100: 1.5}\n"));
  for (const std::string& text :
       {file.string(), file.filename().string(), std::string("{currency: CHF, device_hour: {V100: 1.5}}")}) {
    const Prices prices = read(text);
    EXPECT_EQ(prices.currency, "CHF") << text;
    EXPECT_EQ(price_of(prices, "Tesla V100-SXM2"), 1.5) << text;
  }
  for (const char* wrong :
       {"{device_hour: {V100: -1}}", "{device_hours: {V100: 1}}", "{currency: CHF}", "/nowhere.yaml", "2.5"})
    EXPECT_THROW(read(wrong), UsageError) << wrong;
  fs::remove(file);
}

}  // namespace
}  // namespace tessera
