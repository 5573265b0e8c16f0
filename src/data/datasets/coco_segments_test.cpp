#include "data/datasets/coco_segments.h"

#include <gtest/gtest.h>

#include "data/datasets/coco.h"
#include "storage/zip_writer.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using nlohmann::json;
using testing::message_of;

// The data set of tests/interop/make_panoptic.py in COCO's folders.
class CocoSegments : public ::testing::Test {
 protected:
  CocoSegments() : fixture_(testing::load_fixture("panoptic.json")), json_(fixture_.at("json")) {
    testing::write_image(root_ / "train2017/field 9.png", {24, 30});
    testing::write_bytes(root_ / "annotations/panoptic_train2017/field 9.png",
                         testing::from_base64(fixture_.at("png").get<std::string>()));
    config_.type = SourceType::kCoco;
    config_.path = root_.string();
    config_.val_share = 0;
    config_.coco.classes = CocoClasses::kCategory;
  }

  CocoDataset open() {
    write_file(root_ / "annotations/panoptic_train2017.json", json_.dump());
    return CocoDataset(config_, Split::kTrain);
  }
  std::vector<int> labels() {
    const LabelMap labels = open().get(0).labels.value();
    return {labels.labels.begin(), labels.labels.end()};
  }
  // What `get` says once the list of segments has changed.
  template <class Change>
  std::string fault_after(Change change) {
    change(json_["annotations"][0]);
    return message_of<BadSample>([&] { open().get(0); });
  }

  testing::TempFolder folder_;
  fs::path root_ = folder_ / "coco";
  json fixture_, json_;
  DataConfig config_;
};

TEST_F(CocoSegments, ThingsAndStuffAreNumPysAndFoundUnderTheirUsualNames) {
  EXPECT_EQ(labels(), fixture_.at("labels").get<std::vector<int>>());
  EXPECT_EQ(open().classes().names, (std::vector<std::string>{"background", "person", "cat", "tree-merged"}));
}

TEST_F(CocoSegments, ClassesCrowdsAndBackgroundAreAsOfInstances) {
  std::vector<int> expected = fixture_.at("labels").get<std::vector<int>>();
  const std::vector<int> crowd = fixture_.at("crowd").get<std::vector<int>>();
  config_.coco.crowds = false;
  config_.coco.background = false;
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = crowd[i] == 1 || expected[i] == 0 ? kIgnoreLabel : expected[i] - 1;
  EXPECT_EQ(labels(), expected);
  config_.coco = {};
  config_.coco.classes = CocoClasses::kBinary;
  expected = fixture_.at("labels").get<std::vector<int>>();
  for (int& label : expected) label = label > 0 ? 1 : 0;
  EXPECT_EQ(labels(), expected);
}

TEST_F(CocoSegments, ThePngsMayLieInAnArchive) {
  ZipWriter zip;
  zip.add("panoptic_train2017/field 9.png", read_bytes(root_ / "annotations/panoptic_train2017/field 9.png"));
  fs::remove_all(root_ / "annotations/panoptic_train2017");
  write_file(root_ / "annotations/panoptic_train2017.zip", std::span<const uint8_t>(zip.finish()));
  EXPECT_EQ(labels(), fixture_.at("labels").get<std::vector<int>>());
}

TEST_F(CocoSegments, WhatIsWrongIsABadSample) {
  EXPECT_CONTAINS(fault_after([](json& a) { a["segments_info"].erase(1); }), "has a pixel of segment 300");
  EXPECT_CONTAINS(fault_after([](json& a) { a["segments_info"][0]["category_id"] = 3; }), "category 3 is not in the file");
  EXPECT_CONTAINS(fault_after([](json& a) { a["segments_info"][0] = json::object({{"id", 5}, {"category_id", 1}}); }), "twice");
  EXPECT_CONTAINS(fault_after([](json& a) { a["segments_info"][0] = {{"category_id", 1}}; }), "lacks a whole number 'id'");
  EXPECT_CONTAINS(fault_after([](json& a) { a["segments_info"] = json::object(); }), "is no list");
  EXPECT_CONTAINS(fault_after([](json& a) { a["file_name"] = "../../secret.png"; }), "leads out of");
  EXPECT_CONTAINS(fault_after([](json& a) { a.erase("file_name"); }), "has no 'file_name'");
}

TEST_F(CocoSegments, AMaskThatIsNoColourImageIsABadSample) {
  testing::write_mask(root_ / "annotations/panoptic_train2017/field 9.png", {24, 30});
  EXPECT_CONTAINS(message_of<BadSample>([&] { open().get(0); }), "is no colour image");
  fs::remove_all(root_ / "annotations/panoptic_train2017");
  EXPECT_CONTAINS(message_of<BadSample>([&] { open().get(0); }), "with the PNGs of the segments");
}

}  // namespace
}  // namespace tessera
