#include "config/duration.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(Duration, ReadsEpochsBatchesAndShares) {
  EXPECT_EQ(Duration::parse("25ep"), Duration::epochs(25));
  EXPECT_EQ(Duration::parse("1000ba"), Duration::batches(1000));
  EXPECT_EQ(Duration::parse("0.5dur"), Duration::share(0.5));
  EXPECT_EQ(Duration::parse("0.5dur").text(), "0.5dur");
}

TEST(Duration, CountsSteps) {
  EXPECT_EQ(Duration::parse("2.5ep").steps(10, 0), 25);
  EXPECT_EQ(Duration::parse("7ba").steps(10, 100), 7);
  EXPECT_EQ(Duration::parse("0.25dur").steps(10, 100), 25);
}

TEST(Duration, RefusesWhatHasNoMeaning) {
  for (const char* text : {"25", "ep", "-3ep", "1.5ba", "2dur", "3 ep", "nanep", "1e999ep", ""})
    EXPECT_THROW(Duration::parse(text), Error) << text;
}

TEST(Duration, MoreThanCanBeCountedIsRefused) {
  for (const char* text : {"99999999999999999999ba", "9300000000000000000ba", "1e13ba", "1e300ep"})
    EXPECT_THROW(Duration::parse(text), Error) << text;
  EXPECT_EQ(Duration::parse("1000000000000ba").steps(1, 0), 1'000'000'000'000);
  EXPECT_THROW(Duration::parse("1e9ep").steps(1'000'000, 0), UsageError);
}

}  // namespace
}  // namespace tessera
