#include "launch/cluster/nodelist.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

using Names = std::vector<std::string>;

TEST(Nodelist, ExpandsRangesAndKeepsZeros) {
  EXPECT_EQ(expand_nodelist("gpu[01-03,7],login"), (Names{"gpu01", "gpu02", "gpu03", "gpu7", "login"}));
  EXPECT_EQ(expand_nodelist("n[8-11]"), (Names{"n8", "n9", "n10", "n11"}));
}

TEST(Nodelist, TakesPlainNamesAndDashes) {
  EXPECT_EQ(expand_nodelist("a-1"), (Names{"a-1"}));
  EXPECT_EQ(expand_nodelist("a,b.example"), (Names{"a", "b.example"}));
  EXPECT_TRUE(expand_nodelist("").empty());
}

TEST(Nodelist, ExpandsTwoBracketsInOneName) {
  EXPECT_EQ(expand_nodelist("r[1-2]n[0-1]x"), (Names{"r1n0x", "r1n1x", "r2n0x", "r2n1x"}));
}

TEST(Nodelist, RefusesBrokenForms) {
  for (const char* text : {"n[1-3", "n]1[", "n[[1]]", "n[3-1]", "n[a-b]", "n[1-]", "n[0-99999999999]"}) {
    EXPECT_THROW(expand_nodelist(text), UsageError) << text;
  }
}

TEST(Nodelist, ExpandsCountsPerNode) {
  EXPECT_EQ(expand_counts("4(x2),2"), (std::vector<int>{4, 4, 2}));
  EXPECT_EQ(expand_counts("8"), std::vector<int>{8});
  EXPECT_THROW(expand_counts("4(x"), UsageError);
  EXPECT_THROW(expand_counts("four"), UsageError);
}

}  // namespace
}  // namespace tessera
