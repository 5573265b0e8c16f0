#include "data/datasets/coco.h"

#include <gtest/gtest.h>

#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using nlohmann::json;
using testing::message_of;
using testing::TempFolder;

// The data set of the fixture on the disk.
class CocoSmall : public ::testing::Test {
 protected:
  CocoSmall() : data_(testing::load_fixture("pycocotools.json").at("data_set")), json_(data_.at("json")) {
    for (const char* name : {"field 7.png", "field 9.png", "field 3.png"})
      testing::write_image(folder_ / "pictures" / name, {24, 30});
    config_.type = SourceType::kCoco;
    config_.path = folder_.path();
    config_.train.images = "pictures";
    config_.train.masks = "instances.json";
    config_.coco.classes = CocoClasses::kCategory;
    config_.coco.order = PaintOrder::kFile;
    config_.val_share = 0;
  }

  CocoDataset open() {
    write_file(folder_ / "instances.json", json_.dump());
    return CocoDataset(config_, Split::kTrain);
  }

  // What `get` says about the first image once annotation 12 has this outline.
  std::string fault_of(const json& segmentation) {
    json_["annotations"][1]["segmentation"] = segmentation;
    const CocoDataset data = open();
    return message_of([&] { data.get(0); });
  }

  TempFolder folder_;
  json data_;
  json json_;
  DataConfig config_;
};

TEST_F(CocoSmall, FileOrderEqualsPycocotools) {
  const CocoDataset data = open();
  ASSERT_EQ(data.size(), 3);
  EXPECT_EQ(data.classes().names, (std::vector<std::string>{"background", "fern", "moss", "boulder"}));
  for (int64_t i = 0; i < data.size(); ++i) {
    const Sample sample = data.get(i);
    std::string drawn;
    for (int16_t label : sample.labels->labels) drawn += static_cast<char>('0' + label);
    EXPECT_EQ(drawn, data_.at("expected_file_order").at(data.id(i) + ".png").get<std::string>()) << data.id(i);
  }
}

TEST_F(CocoSmall, LargestFirstKeepsTheSmallOneVisible) {
  config_.coco.order = PaintOrder::kLargestFirst;
  const Sample sample = open().get(0);
  EXPECT_EQ(sample.labels->at(7, 8), 1);   // fern, area 30, over boulder, 90
  EXPECT_EQ(sample.labels->at(3, 13), 3);  // boulder, 90, over moss, 96
  EXPECT_EQ(sample.labels->at(4, 25), 2);
  EXPECT_EQ(sample.placement.original, (Size{24, 30}));
}

TEST_F(CocoSmall, CrowdsCanBeIgnored) {
  config_.coco.crowds = false;
  const Sample sample = open().get(0);
  EXPECT_EQ(sample.labels->at(4, 25), kIgnoreLabel);
  EXPECT_EQ(sample.labels->at(20, 25), 0);
}

TEST_F(CocoSmall, BackgroundCanBeIgnored) {
  config_.coco.background = false;
  const Sample sample = open().get(2);
  EXPECT_TRUE(
      std::all_of(sample.labels->labels.begin(), sample.labels->labels.end(), [](int16_t v) { return v == kIgnoreLabel; }));
}

TEST_F(CocoSmall, ListAndCountChoose) {
  write_file(folder_ / "some.txt", std::string_view("# mine\nfield 3\n\nfield 9.png\n"));
  config_.train.list = "some.txt";
  const CocoDataset listed = open();
  ASSERT_EQ(listed.size(), 2);
  EXPECT_EQ(listed.id(0), "field 3");
  EXPECT_EQ(listed.get(1).labels->at(16, 4), 2);
  config_.train.count = 1;
  EXPECT_EQ(open().size(), 1);
}

TEST_F(CocoSmall, FaultsNameImageFileAndAnnotation) {
  const std::string odd = fault_of(json::array({{1, 1, 5, 1, 5}}));
  EXPECT_CONTAINS(odd, "field 7: ");
  EXPECT_CONTAINS(odd, "instances.json: annotation 12: polygon has 5 numbers");
  EXPECT_CONTAINS(fault_of(json::array({{1, 1, 5, 1}})), "annotation 12: polygon has 4 numbers, expected at least 6");
  EXPECT_CONTAINS(fault_of(json::array()), "annotation 12: segmentation is an empty list");
  EXPECT_CONTAINS(fault_of(json::array({1, 2, 3})), "annotation 12: segmentation holds number");
  EXPECT_CONTAINS(fault_of({{"size", {24, 30}}, {"counts", {5, 6}}}), "annotation 12: RLE covers 11 pixels");
  EXPECT_CONTAINS(fault_of({{"size", {30, 24}}, {"counts", {720}}}), "annotation 12: RLE segmentation has the size [30, 24]");
  EXPECT_CONTAINS(fault_of({{"size", {24, 30}}, {"counts", "o"}}), "annotation 12: RLE string ends within a number");
  EXPECT_CONTAINS(fault_of({{"counts", {720}}}), "lacks 'counts' or 'size'");
  EXPECT_CONTAINS(fault_of({{"size", {24, 30}}, {"counts", {{"a", 1}}}}), "annotation 12: segmentation cannot be read");
  EXPECT_CONTAINS(fault_of(nullptr), "annotation 12: it has no segmentation");
}

TEST_F(CocoSmall, SizeOfFileAndJsonMustAgree) {
  testing::write_image(folder_ / "pictures" / "field 7.png", {30, 24});
  const CocoDataset data = open();
  EXPECT_THROW(data.get(0), BadSample);
  const std::string message = message_of([&] { data.get(0); });
  EXPECT_CONTAINS(message, "is 24 x 30, image");
  EXPECT_CONTAINS(message, "data.exif_orientation=false");
}

TEST_F(CocoSmall, UnknownCategoryAndMissingFileAreBadSamples) {
  json_["annotations"][0]["category_id"] = 77;
  std::filesystem::remove(folder_ / "pictures" / "field 9.png");
  const CocoDataset data = open();
  EXPECT_CONTAINS(message_of([&] { data.get(0); }), "annotation 11: its category 77 is not in the file");
  EXPECT_THROW(data.get(1), BadSample);
  EXPECT_CONTAINS(message_of([&] { data.get(1); }), "field 9.png: No such file");
}

TEST_F(CocoSmall, NamesThatLeadOutOfTheDataFolderAreBadSamplesUnlessAllowed) {
  const TempFolder elsewhere;
  const std::string outside = (elsewhere / "private.png").string(), inside = (folder_ / "pictures/field 3.png").string();
  testing::write_image(outside, {24, 30});
  testing::write_image(folder_ / "beside.png", {24, 30});
  for (const std::string& name :
       {outside, std::string("../beside.png"), std::string("a/../../beside.png"), folder_.path().string() + "-beside/x.png"}) {
    json_["images"][0]["file_name"] = name;
    const CocoDataset data = open();
    const std::string message = message_of<BadSample>([&] { data.get(0); });
    EXPECT_CONTAINS(message, "its file_name '" + name + "' leads out of " + folder_.path().string());
    EXPECT_CONTAINS(message, "data.coco.allow_outside=true");
    EXPECT_TRUE(data.image_file(0).empty());
    EXPECT_NO_THROW(data.get(1));
  }
  json_["images"][0]["file_name"] = inside;
  EXPECT_NO_THROW(open().get(0));
  config_.coco.allow_outside = true;
  for (const std::string& name : {outside, std::string("../beside.png")}) {
    json_["images"][0]["file_name"] = name;
    EXPECT_NO_THROW(open().get(0)) << name;
  }
}

TEST_F(CocoSmall, AnnotationsWithoutAnImageAreCountedAndNamed) {
  json_["annotations"][1]["image_id"] = 555;  // and the fixture's last has 404
  ::testing::internal::CaptureStderr();
  open();
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_CONTAINS(warning, "instances.json: 2 of 5 annotations belong to images");
  EXPECT_CONTAINS(warning, "the first is annotation 12 with image_id 555");
  json_["annotations"].erase(4);
  json_["annotations"].erase(1);
  ::testing::internal::CaptureStderr();
  open();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(CocoSmall, ImagesOfTheSameIdAreBadSamples) {
  json_["images"][1]["id"] = 7;
  const CocoDataset data = open();
  for (const int64_t index : {0, 1}) {
    EXPECT_CONTAINS(message_of<BadSample>([&] { data.get(index); }), "have the same id 7");
  }
}

TEST_F(CocoSmall, AFileWhoseAnnotationsAllMissTheirImagesIsRefused) {
  for (auto& annotation : json_["annotations"]) annotation["image_id"] = "a name";
  EXPECT_CONTAINS(message_of([&] { open(); }), "no annotation belongs to an image that the file lists");
}

TEST_F(CocoSmall, MissingFoldersAreErrors) {
  config_.train.masks = "other.json";
  EXPECT_CONTAINS(message_of([&] { CocoDataset(config_, Split::kTrain); }), "set data.path or data.train.masks");
  config_.train.masks.clear();
  config_.val.images = "val2017";
  EXPECT_CONTAINS(message_of([&] { CocoDataset(config_, Split::kVal); }),
                  "no such file: " + (folder_ / "annotations/instances_val2017.json").string());
}

TEST(Coco, ReadsTheRealThing) {
  TSR_NEED_DATA(root, "coco_tiny");
  DataConfig config;
  config.type = SourceType::kCoco;
  config.path = root;
  for (Split split : {Split::kTrain, Split::kVal}) {
    const CocoDataset data(config, split);
    EXPECT_EQ(data.size(), 24);
    EXPECT_EQ(data.classes().size(), 13);
    int64_t objects = 0;
    for (int64_t i = 0; i < data.size(); ++i) {
      const Sample sample = data.get(i);
      EXPECT_EQ(sample.labels->size(), sample.image.size());
      objects += std::count_if(sample.labels->labels.begin(), sample.labels->labels.end(), [](int16_t v) { return v > 0; });
    }
    EXPECT_GT(objects, 1000000);
  }
}

// Before the sizes were compared first, memory was taken for the mask: std::bad_alloc for the largest.
TEST_F(CocoSmall, SizesThatTheImageDoesNotHaveAreTheSamplesFault) {
  for (const json& size : {json(60000), json(2147483647), json(4294967320), json(1e300)}) {
    json_["images"][0]["height"] = json_["images"][0]["width"] = size;
    const CocoDataset data = open();
    EXPECT_CONTAINS(message_of([&] { data.get(0); }), "they must be of one size") << size;
  }
}

TEST_F(CocoSmall, RunLengthSizesDoNotWrapAround) {
  EXPECT_CONTAINS(fault_of({{"size", {4294967320, 30}}, {"counts", {720}}}), "RLE segmentation has the size [4294967320, 30]");
}

TEST_F(CocoSmall, ImagesOfMorePixelsThanAllowedAreRefused) {
  config_.max_pixels = 24 * 30 - 1;
  const CocoDataset data = open();
  EXPECT_CONTAINS(message_of([&] { data.get(0); }), "720 pixels, more than data.max_pixels=719");
}

}  // namespace
}  // namespace tessera
