#include "data/datasets/coco_annotations.h"

#include <gtest/gtest.h>

#include "data/datasets/char_reader.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;

constexpr std::string_view kSmall = R"({"info": {"images": [1, {"id": 3}]},
  "images": [{"id": 4, "file_name": "a.jpg", "height": 2, "width": 3, "extra": {"id": 9}}],
  "annotations": [{"id": 6, "image_id": 4, "category_id": 2, "area": 1.5, "iscrowd": 1, "bbox": [1, 2, 3, 4],
                   "segmentation": {"size": [2, 3], "counts": [6]}},
                  {"segmentation": [[0,0,1,0,1,1]], "id": 7, "image_id": 4, "category_id": 1}],
  "categories": [{"id": 2, "name": "b", "supercategory": "s"}, {"id": 1, "name": "a"}]})";

TEST(CocoAnnotations, KeepsFieldsAndWhereOutlinesLie) {
  TempFolder folder;
  write_file(folder / "x.json", kSmall);
  const CocoFile file = read_coco_file(folder / "x.json");
  ASSERT_EQ(file.images.size(), 1U);
  EXPECT_EQ(file.images[0].id, 4);
  EXPECT_EQ(file.images[0].size, (Size{2, 3}));
  ASSERT_EQ(file.annotations.size(), 2U);
  EXPECT_TRUE(file.annotations[0].crowd);
  EXPECT_EQ(file.annotations[0].area, 1.5);
  EXPECT_LT(file.annotations[1].area, 0);
  EXPECT_EQ(read_range(folder / "x.json", file.annotations[0].offset, file.annotations[0].length),
            R"({"size": [2, 3], "counts": [6]})");
  EXPECT_EQ(read_range(folder / "x.json", file.annotations[1].offset, file.annotations[1].length), "[[0,0,1,0,1,1]]");
  ASSERT_EQ(file.categories.size(), 2U);
  EXPECT_EQ(file.categories[0].name, "a");
}

TEST(CocoAnnotations, OffsetsHoldBeyondTheReadBuffer) {
  TempFolder folder;
  const std::string padding = "{\"info\": \"" + std::string(3 << 20, ' ') + "\", ";
  write_file(folder / "x.json", padding + std::string(kSmall.substr(1)));
  const CocoFile file = read_coco_file(folder / "x.json");
  EXPECT_EQ(read_range(folder / "x.json", file.annotations[1].offset, file.annotations[1].length), "[[0,0,1,0,1,1]]");
}

std::string read_error(const std::string& json) {
  TempFolder folder;
  write_file(folder / "x.json", json);
  const std::string message = message_of([&] { read_coco_file(folder / "x.json"); });
  EXPECT_CONTAINS(message, "x.json");
  return message;
}

CocoFile read_lists(const std::string& images, const std::string& annotations) {
  TempFolder folder;
  write_file(folder / "x.json",
             fmt::format(R"({{"images": [{}], "annotations": [{}], "categories": []}})", images, annotations));
  return read_coco_file(folder / "x.json");
}

TEST(CocoAnnotations, IdsAreWholeNumbersOrWords) {
  const CocoFile file =
      read_lists(R"({"id": "a", "file_name": "a", "height": 1, "width": 1}, {"id": "7"}, {"id": -3}, {"id": "07"})",
                 R"({"id": "x", "image_id": "a", "category_id": 0}, {"id": 1, "image_id": 7, "category_id": "7"})");
  EXPECT_EQ(file.images[0].fault, "");
  EXPECT_EQ(file.annotations[0].fault, "");
  EXPECT_EQ(file.annotations[0].image_id, file.images[0].id);
  EXPECT_EQ(file.annotations[1].image_id, file.images[1].id);
  EXPECT_EQ(file.annotations[1].category_id, 7);
  EXPECT_EQ(file.images[2].id, -3);
  EXPECT_NE(file.images[3].id, 7);
  EXPECT_EQ(coco_id_text(file.images[3].id, file.words), "07");
  EXPECT_EQ(coco_id_text(file.images[0].id, file.words), "a");
  EXPECT_EQ(coco_id_text(-3, file.words), "-3");
  EXPECT_CONTAINS(read_lists("", R"({"category_id": 1.5})").annotations.at(0).fault,
                  "annotations[0].category_id is 1.5: expected");
}

TEST(CocoAnnotations, OneBadEntryCostsNoOther) {
  const CocoFile file = read_lists(R"({"id": 5, "file_name": "a.jpg"}, {"id": 6, "height": 1, "width": 1},
    {"file_name": "b", "height": 1, "width": 1}, {"id": 7, "file_name": "c", "height": 0, "width": 1},
    {"id": 8, "file_name": "d", "height": 1, "width": 1})",
                                   R"({"id": 5, "image_id": 8}, {"id": 6, "image_id": 8, "category_id": 1})");
  ASSERT_EQ(file.images.size(), 5U);
  EXPECT_EQ(file.images[0].fault, "image 5 lacks 'height' or 'width'");
  EXPECT_EQ(file.images[1].fault, "image 6 has no 'file_name'");
  EXPECT_EQ(file.images[2].fault, "image 2 has no 'id'");
  EXPECT_EQ(file.images[3].fault, "image 7 lacks 'height' or 'width'");
  EXPECT_EQ(file.images[4].fault, "");
  EXPECT_EQ(file.annotations[0].fault, "annotation 5 has no 'category_id'");
  EXPECT_EQ(file.annotations[1].fault, "");
}

TEST(CocoAnnotations, IdsOfOtherPlacesMayBeText) {
  TempFolder folder;
  write_file(folder / "x.json",
             std::string_view(R"({"info": {"id": "x"}, "licenses": [{"id": "by"}], "images": [{"id": 4.0, "file_name": "a.jpg",
    "height": 2, "width": 3, "extra": {"id": "9"}}], "annotations": [], "categories": []})"));
  EXPECT_EQ(read_coco_file(folder / "x.json").images.at(0).id, 4);
}

TEST(CocoAnnotations, BrokenFilesAreNamed) {
  EXPECT_CONTAINS(read_error(std::string(kSmall.substr(0, 300))), "not valid JSON");
  EXPECT_CONTAINS(read_error(""), "not valid JSON");
  EXPECT_CONTAINS(read_error("\xFF\xFE{"), "is UTF-16 text: expected UTF-8");
  EXPECT_CONTAINS(read_error("{}"), "no list 'images'");
  EXPECT_CONTAINS(read_error(R"({"images": [], "categories": []})"), "no list 'annotations'");
  EXPECT_CONTAINS(
      read_error(R"({"categories": [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}], "images": [], "annotations": []})"),
      "have the same id 1");
  EXPECT_CONTAINS(message_of([] { read_coco_file("/nowhere/x.json"); }), "no such file");
}

}  // namespace
}  // namespace tessera
