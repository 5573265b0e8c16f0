#include "infer/eval_result.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(EvalResult, JsonNamesClassesAndKeepsTheMatrixByRows) {
  EvalResult result;
  result.confusion = {3, 1, 0, 4};
  result.report = make_iou_report(result.confusion, 2);
  result.num_images = 2;
  result.num_bad = 1;
  const ClassTable classes{{"sky", "ground"}, {}};
  nlohmann::json json = eval_json(classes, result);
  EXPECT_EQ(json.at("confusion"), (nlohmann::json{{3, 1}, {0, 4}}));
  EXPECT_EQ(json.at("per_class")[1].at("name"), "ground");
  EXPECT_EQ(json.at("per_class")[1].at("pixels"), 4);
  EXPECT_DOUBLE_EQ(json.at("metrics").at("pixel_accuracy"), 7.0 / 8);
  EXPECT_EQ(json.at("images"), 2);
  EXPECT_EQ(json.at("bad"), 1);
  EXPECT_FALSE(json.contains("windows_for_memory"));
  result.windows_for_memory = "images of 9 x 9 pixels or more in windows of 4 x 4";
  EXPECT_EQ(eval_json(classes, result).at("windows_for_memory"), result.windows_for_memory);
}

TEST(EvalResult, JsonHasWhatWasMeasuredOfEachClass) {
  EvalResult result;
  result.confusion = {3, 1, 0, 4};
  result.report = make_iou_report(result.confusion, 2);
  const ClassTable classes{{"background", "cell"}, {}};
  nlohmann::json cell = eval_json(classes, result).at("per_class")[1];
  EXPECT_DOUBLE_EQ(cell.at("precision"), 4.0 / 5);
  EXPECT_EQ(cell.at("recall"), cell.at("accuracy"));
  EXPECT_EQ(cell.at("f1"), cell.at("dice"));
  EXPECT_FALSE(cell.contains("boundary_iou"));
  EXPECT_FALSE(cell.contains("objects"));
  result.boundaries = {{.tp = 1}, {.tp = 1, .fp = 1}};
  result.objects = {{}, {.found = {.tp = 2, .fp = 1, .fn = 3}, .iou_sum = int64_t{2} << 32}};
  result.object_classes = {false, true};
  const nlohmann::json json = eval_json(classes, result);
  cell = json.at("per_class")[1];
  EXPECT_DOUBLE_EQ(cell.at("boundary_iou"), 0.5);
  EXPECT_EQ(cell.at("objects"), (nlohmann::json{{"labelled", 5}, {"predicted", 3}, {"matched", 2}}));
  EXPECT_DOUBLE_EQ(cell.at("object_f1"), 4.0 / 8);
  EXPECT_FALSE(json.at("per_class")[0].contains("object_f1"));
  EXPECT_DOUBLE_EQ(json.at("metrics").at("mean_boundary_iou"), 0.75);
}

}  // namespace
}  // namespace tessera
