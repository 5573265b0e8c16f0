#include "data/check/sample_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/fixed_dataset.h"

namespace tessera {
namespace {

using testing::FixedDataset;
using testing::row_sample;

std::vector<std::string> chosen_names(const std::vector<std::string>& names, int64_t count, uint64_t seed) {
  std::vector<Sample> samples;
  for (const std::string& name : names) samples.push_back(row_sample(name, {0}, {0}));
  const FixedDataset data(std::move(samples));
  std::vector<std::string> chosen;
  for (const int64_t index : choose_samples(data, count, seed)) chosen.push_back(data.id(index));
  return chosen;
}

TEST(SampleChoice, FollowsFromNamesAndSeedAlone) {
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("s" + std::to_string(i));
  const auto chosen = chosen_names(names, 8, 3);
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), 8U);
  std::vector<std::string> turned(names.rbegin(), names.rend());
  EXPECT_EQ(chosen_names(turned, 8, 3), chosen);
  EXPECT_NE(chosen_names(names, 8, 4), chosen);
  // A file that goes makes room for one other.
  std::erase(names, chosen[0]);
  const auto without = chosen_names(names, 8, 3);
  EXPECT_TRUE(std::equal(chosen.begin() + 1, chosen.end(), without.begin()));
}

TEST(SampleChoice, TakesAllOfAFew) {
  EXPECT_EQ(chosen_names({"a", "b"}, 64, 0).size(), 2U);
  EXPECT_TRUE(chosen_names({}, 64, 0).empty());
}

}  // namespace
}  // namespace tessera
