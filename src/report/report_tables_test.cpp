#include "report/report_tables.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReportTables, ClassRowHasColourScoreAndShare) {
  EvalPoint eval;
  eval.per_class = {{.name = "sky", .iou = 0.5, .accuracy = 0.75, .dice = 0.625, .pixels = 30},
                    {.name = "road", .iou = kNoValue, .pixels = 10}};
  // The line lists sky first, the data set last: the colour goes by the name.
  const std::string html = class_table(eval, {"road", "sky"}, {{1, 2, 3}, {255, 0, 16}});
  EXPECT_LT(html.find("#ff0010"), html.find("#010203"));
  EXPECT_TRUE(holds(html, "width:50.0%"));
  EXPECT_TRUE(holds(html, "<b>50.00</b>"));
  EXPECT_TRUE(holds(html, ">75.00</td>"));  // sky has 30 of 40 pixels, and an accuracy of 0.75
  EXPECT_TRUE(holds(html, "<td class=\"bar\" data-value=\"\">–</td>"));
}

TEST(ReportTables, BoundariesHaveAColumnAndObjectsATableWhereTheyWereMeasured) {
  EvalPoint eval;
  eval.per_class = {{.name = "background", .iou = 0.5}, {.name = "cell", .iou = 0.5, .precision = 0.875}};
  EXPECT_TRUE(holds(class_table(eval, {}, {}), ">87.50</td>"));
  EXPECT_FALSE(holds(class_table(eval, {}, {}), "Boundary"));
  EXPECT_EQ(object_table(eval, {}, {}), "");
  eval.per_class[1].boundary_iou = 0.375;
  eval.per_class[1].objects = ObjectEntry{.labelled = 1234, .predicted = 1200, .matched = 1100, .f1 = 0.625};
  EXPECT_TRUE(holds(class_table(eval, {}, {}), ">37.50</td>"));
  const std::string objects = object_table(eval, {}, {});
  EXPECT_TRUE(holds(objects, "<td class=\"number\" data-value=\"1234\">1,234</td>"));
  EXPECT_TRUE(holds(objects, "<b>62.50</b>"));
  EXPECT_FALSE(holds(objects, "background"));  // has none
}

TEST(ReportTables, ConfusedPairsAreSharesOfTheLabel) {
  EvalPoint eval;
  eval.confusion = {{90, 10, 0}, {50, 50, 0}, {0, 0, 0}};
  const std::string html = confused_pairs(eval, {"a", "b"});
  const size_t worst = html.find("b <span class=\"quiet\">taken for</span> a</td><td class=\"number\">50.0");
  const size_t next = html.find("a <span class=\"quiet\">taken for</span> b</td><td class=\"number\">10.0");
  ASSERT_NE(worst, std::string::npos);
  ASSERT_NE(next, std::string::npos);
  EXPECT_LT(worst, next);
  EXPECT_FALSE(holds(html, "class 2"));  // never seen, so never confused
}

TEST(ReportTables, PerfectOrAbsentMatrixHasNoPairs) {
  EvalPoint eval;
  EXPECT_EQ(confused_pairs(eval, {}), "");
  eval.confusion = {{5, 0}, {0, 5}};
  EXPECT_EQ(confused_pairs(eval, {}), "");
}

TEST(ReportTables, BadSamplesAreListedOnceWithTheirCount) {
  const std::string html = bad_sample_table({{"a.jpg", "truncated", "b.jpg"}, {"a.jpg", "truncated", "c.jpg"}});
  EXPECT_TRUE(holds(html, "<td class=\"number\">2</td>"));
  EXPECT_FALSE(holds(html, "c.jpg"));
}

TEST(ReportTables, ManyBadSamplesAreCut) {
  std::vector<BadSampleEntry> samples;
  for (int i = 0; i < 1234; ++i) samples.push_back({.id = "sample" + std::to_string(i)});
  const std::string html = bad_sample_table(samples);
  EXPECT_TRUE(holds(html, "1,034 more are in log.jsonl"));
  EXPECT_FALSE(holds(html, "sample200<"));
}

TEST(ReportTables, NestedKeysAreDotted) {
  const std::string html = key_value_table({{"gpu", {{"name", "A & B"}, {"count", 2}}}});
  EXPECT_TRUE(holds(html, "gpu.name</th><td>A &amp; B</td>"));
  EXPECT_TRUE(holds(html, "gpu.count</th><td>2</td>"));
  EXPECT_EQ(key_value_table(nullptr), "");
}

}  // namespace
}  // namespace tessera
