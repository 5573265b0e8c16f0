#include "apps/short_names.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Names = std::vector<std::string>;

TEST(ShortNames, AreTheLastPartsThatTellPathsApart) {
  EXPECT_EQ(short_names({"runs/wide", "runs/deep/"}), (Names{"wide", "deep"}));
  EXPECT_EQ(short_names({"/a/x/run", "/b/x/run", "/b/y/other"}), (Names{"a/x/run", "b/x/run", "other"}));
  EXPECT_EQ(short_names({"./one.json", "sub/../two.json"}), (Names{"one.json", "two.json"}));
}

TEST(ShortNames, TrialsAreNamedAfterTheirStudy) {
  EXPECT_EQ(short_names({"studies/cells/trials/0", "studies/cells/trials/12-1"}), (Names{"cells/0", "cells/12-1"}));
  EXPECT_EQ(short_names({"/a/cells/trials/0", "/b/cells/trials/0"}), (Names{"a/cells/0", "b/cells/0"}));
  EXPECT_EQ(short_names({"runs/2024", "runs/plain"}), (Names{"2024", "plain"}));
}

TEST(ShortNames, OnePathGivenTwiceHasOneName) {
  EXPECT_EQ(short_names({"/a/run", "/a/run"}), (Names{"a/run", "a/run"}));
}

}  // namespace
}  // namespace tessera
