#include "report/check_page.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(CheckPage, ShowsFindingsByLevelAndEscapesNames) {
  CheckPage page{.title = "cells",
                 .state = "mend",
                 .verdict = "1 < 2",
                 .command = "tessera train x",
                 .config = "data:\n",
                 .facts = {{"train", "3 samples"}},
                 .findings = {}};
  page.findings.push_back(
      {.kind = "odd_size", .level = "note", .split = "train", .title = "Sizes", .text = "one", .advice = "look", .samples = 0});
  page.findings.push_back({.kind = "truncated",
                           .level = "unusable",
                           .split = "val",
                           .title = "Cut off",
                           .advice = "get it",
                           .keys = {"a=b"},
                           .pictured = {{"<b>", "why", {{"image", {1, 2, 3}}}}},
                           .others = {"x: y"},
                           .samples = 2});
  const std::string html = render_check_page(page);
  EXPECT_NE(html.find("1 &lt; 2"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;"), std::string::npos);
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_NE(html.find("data:image/png;base64,AQID"), std::string::npos);
  EXPECT_NE(html.find("1 more"), std::string::npos);
  EXPECT_LT(html.find("id=\"truncated-val\""), html.find("id=\"odd_size-train\""));
  EXPECT_EQ(html.find("http"), html.find("http-equiv"));  // nothing is loaded from elsewhere
}

TEST(CheckPage, SaysSoWhereNothingIsWrong) {
  EXPECT_NE(render_check_page({.title = "x", .state = "ready"}).find("Nothing is wrong"), std::string::npos);
}

}  // namespace
}  // namespace tessera
