#include "study/schedule/explore.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Rng draws(uint64_t i) {
  return {5, Stream::kStudy, i};
}

Space space() {
  Parameter rate{.name = "lr", .low = 1e-4, .high = 1e-1, .log = true};
  Parameter width{.name = "width", .kind = Parameter::Kind::kInteger, .low = 1, .high = 9, .step = 1};
  Parameter crop{.name = "crop", .kind = Parameter::Kind::kChoice};
  crop.choices = {{"1", {}}, {"2", {}}, {"3", {}}};
  Parameter blur{.name = "blur", .low = 0, .high = 1};
  blur.when = Condition{"crop", {2}};
  return Space({rate, width, crop, blur});
}

TEST(Explore, PerturbsByFactorsAndNeighbours) {
  PopulationConfig config{.resample = 0};
  std::set<double> rates, widths, ones, crops, edges, tops;
  for (uint64_t i = 0; i < 100; ++i) {
    const Assignment near = explore(space(), {{"lr", 0.01}, {"width", 5}, {"crop", 0}}, config, draws(i));
    rates.insert(near.at("lr")), widths.insert(near.at("width")), edges.insert(near.at("crop"));
    const Assignment other = explore(space(), {{"lr", 0.09}, {"width", 2}, {"crop", 1}}, config, draws(i));
    tops.insert(other.at("lr")), ones.insert(other.at("width")), crops.insert(other.at("crop"));
    EXPECT_EQ(other.count("blur"), other.at("crop") == 2 ? 1u : 0u);
  }
  EXPECT_EQ(rates, (std::set<double>{0.01 * 0.8, 0.01 * 1.2}));
  EXPECT_EQ(widths, (std::set<double>{4, 6}));
  EXPECT_EQ(ones, (std::set<double>{1, 3}));  // 2 * 1.2 would round to 2
  EXPECT_EQ(crops, (std::set<double>{0, 2}));
  EXPECT_EQ(edges, (std::set<double>{0, 1}));
  EXPECT_EQ(tops, (std::set<double>{0.09 * 0.8, 0.1}));  // not above its range
}

TEST(Explore, ResamplesAsOftenAsAsked) {
  PopulationConfig config{.resample = 0.25};
  int drawn = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const double rate = explore(space(), {{"lr", 0.01}, {"width", 5}, {"crop", 0}}, config, draws(i)).at("lr");
    drawn += rate != 0.01 * 0.8 && rate != 0.01 * 1.2 ? 1 : 0;
  }
  EXPECT_NEAR(drawn, 250, 45);  // three standard deviations
}

TEST(Explore, LeavesAloneWhatMayNotChange) {
  PopulationConfig config{.resample = 1, .mutate = {"lr"}};
  const Assignment near = explore(space(), {{"lr", 0.01}, {"width", 5}, {"crop", 2}, {"blur", 0.5}}, config, draws(1));
  EXPECT_NE(near.at("lr"), 0.01);
  EXPECT_EQ(near.at("width"), 5);
  EXPECT_EQ(near.at("crop"), 2);
  EXPECT_EQ(near.at("blur"), 0.5);
}

}  // namespace
}  // namespace tessera
