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

}  // namespace
}  // namespace tessera
