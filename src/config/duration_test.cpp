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

}  // namespace
}  // namespace tessera
