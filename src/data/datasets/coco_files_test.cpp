#include "data/datasets/coco_files.h"

#include <gtest/gtest.h>

#include "data/datasets/coco.h"
#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using testing::message_of;

class CocoFilesTest : public ::testing::Test {
 protected:
  CocoFilesTest() {
    config_.type = SourceType::kCoco;
    config_.path = folder_.path();
    config_.coco.classes = CocoClasses::kCategory;
  }

  // A file that lists these images, each with one square, and the images in `pictures`.
  void write(const std::string& json, const std::string& pictures, const std::vector<std::string>& names,
             const std::string& prefix = "") {
    nlohmann::json file{{"images", nlohmann::json::array()},
                        {"annotations", nlohmann::json::array()},
                        {"categories", {{{"id", 1}, {"name", "square"}, {"supercategory", "none"}}}}};
    for (size_t i = 0; i < names.size(); ++i) {
      file["images"].push_back({{"id", i}, {"file_name", prefix + names[i]}, {"height", 8}, {"width", 8}});
      file["annotations"].push_back({{"id", i},
                                     {"image_id", i},
                                     {"category_id", 1},
                                     {"area", 16},
                                     {"iscrowd", 0},
                                     {"segmentation", {{2, 2, 6, 2, 6, 6, 2, 6}}}});
      testing::write_image(folder_ / pictures / names[i], {8, 8});
    }
    fs::create_directories((folder_ / json).parent_path());
    write_file(folder_ / json, file.dump());
  }

  // The names of a split's samples, each of which must show its square.
  std::string names(Split split) {
    const CocoDataset data(config_, split);
    std::string all;
    for (int64_t i = 0; i < data.size(); ++i) {
      EXPECT_EQ(data.get(i).labels->at(4, 4), 1);
      all += (all.empty() ? "" : " ") + data.id(i);
    }
    return all;
  }

  testing::TempFolder folder_;
  DataConfig config_;
};

TEST_F(CocoFilesTest, OtherYearsAndNone) {
  write("annotations/instances_train2014.json", "train2014", {"a.png"});
  write("annotations/instances_val2014.json", "val2014", {"b.png"});
  write("annotations/person_keypoints_train2014.json", "other", {"x.png"});
  EXPECT_EQ(names(Split::kTrain), "a");
  EXPECT_EQ(names(Split::kVal), "b");
  write("annotations/instances_train.json", "images", {"c.png"});
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "instances_train.json and instances_train2014.json; say which");
}

TEST_F(CocoFilesTest, FilesBesideTheFolders) {
  write("train.json", "images/train", {"a.png"});
  write("val.json", "images/val", {"b.png"});
  write("test.json", "images", {"c.png"});
  EXPECT_EQ(names(Split::kTrain), "a");
  EXPECT_EQ(names(Split::kVal), "b");
  EXPECT_EQ(names(Split::kTest), "c");
}

TEST_F(CocoFilesTest, NamesThatHoldTheFolder) {
  write("annotations/train.json", "pics", {"a.png"}, "pics/");
  write("annotations/val.json", "pics", {"b.png"}, "pics/");
  EXPECT_EQ(names(Split::kTrain), "pics/a");
  EXPECT_EQ(names(Split::kVal), "pics/b");
}

TEST_F(CocoFilesTest, ExportsOfRoboflow) {
  write("train/_annotations.coco.json", "train", {"a.png"});
  write("valid/_annotations.coco.json", "valid", {"b.png"});
  EXPECT_EQ(make_test_set(config_), nullptr);
  write("test/_annotations.coco.json", "test", {"c.png"});
  EXPECT_EQ(names(Split::kTrain), "a");
  EXPECT_EQ(names(Split::kVal), "b");
  EXPECT_EQ(names(Split::kTest), "c");
  ASSERT_NE(make_test_set(config_), nullptr);
  EXPECT_EQ(make_test_set(config_)->origin().text, "test/_annotations.coco.json");
}

TEST_F(CocoFilesTest, WithoutAFileForValAShareOfTrainIsHeldOut) {
  write("annotations/instances_default.json", "images", {"a.png", "b.png", "c.png", "d.png"});
  config_.val_share = 0.25;
  EXPECT_EQ(names(Split::kTrain).size(), 5U);
  EXPECT_EQ(names(Split::kVal).size(), 1U);
  EXPECT_EQ(names(Split::kTrain).find(names(Split::kVal)), std::string::npos);
  EXPECT_EQ(CocoDataset(config_, Split::kVal).origin().text, "held out: 1 of 4 by name, data.val_share=0.25");
}

TEST_F(CocoFilesTest, AShareIsHeldOutOfAFileThatIsNamedToo) {
  write("boxes.json", "pics", {"a.png", "b.png", "c.png", "d.png"});
  config_.train.images = "pics";
  config_.train.masks = "boxes.json";
  config_.val_share = 0.25;
  EXPECT_EQ(names(Split::kTrain).size(), 5U);
  EXPECT_EQ(names(Split::kVal).size(), 1U);
  EXPECT_EQ(names(Split::kTrain).find(names(Split::kVal)), std::string::npos);
  write("val.json", "images", {"e.png"});
  EXPECT_EQ(names(Split::kTrain), "a b c d");
  EXPECT_EQ(names(Split::kVal), "e");
}

TEST_F(CocoFilesTest, NamesOfOnesOwnDoNotHideThatSplitsHaveOtherClasses) {
  write("train.json", "images", {"a.png"});
  write("val.json", "images", {"b.png"});
  config_.classes = {"ground", "tile"};
  EXPECT_EQ(names(Split::kVal), "b");
  std::string json = read_text(folder_ / "val.json");
  json.replace(json.find("square"), 6, "circle");
  write_file(folder_ / "val.json", json);
  EXPECT_CONTAINS(message_of([&] { names(Split::kVal); }), "class 1 is 'square' in train and 'circle' in val");
}

TEST_F(CocoFilesTest, NoTwoSamplesHaveOneName) {
  config_.val_share = 0;
  write("train.json", "images", {"a.png", "a.bmp", "a.png", "b.png"});
  EXPECT_EQ(names(Split::kTrain), "a a.bmp a.png#2 b");
  write_file(folder_ / "some.txt", std::string_view("a.bmp\nb.png\na.png\n"));
  config_.train.list = "some.txt";
  EXPECT_EQ(names(Split::kTrain), "a.bmp b a");
  write_file(folder_ / "some.txt", std::string_view("images/b.png\n"));
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "none among the 4 found ('a', ...)");
}

TEST_F(CocoFilesTest, ImagesThatAreNowhereAreAnErrorOfTheFolder) {
  write("train.json", "elsewhere", {"a.png"});
  EXPECT_CONTAINS(message_of([&] { names(Split::kTrain); }), "data.train.images; folders there: elsewhere");
  config_.train.images = "elsewhere";
  EXPECT_EQ(names(Split::kTrain), "a");
}

TEST_F(CocoFilesTest, ReadAsPairsTheErrorSaysWhatToAdd) {
  write("annotations/instances_train2017.json", "train2017", {"a.png"});
  DataConfig pairs = testing::pairs_at(folder_.path());
  const auto message = [&] { return message_of([&] { make_dataset(pairs, Split::kTrain); }); };
  EXPECT_CONTAINS(message(),
                  "annotations/instances_train2017.json holds COCO annotations; to read them, add: data.type=coco "
                  "data.coco.classes=category data.classes=[]");
  testing::write_image(folder_ / "images/a.png");
  EXPECT_CONTAINS(message(), "data.type=coco");
  fs::remove_all(folder_ / "annotations");
  EXPECT_CONTAINS(message(), "set data.train.masks: none of the usual folders");
  write_file(folder_ / "settings.json", std::string_view("{\"zoom\": 2}"));
  EXPECT_EQ(message().find("COCO"), std::string::npos);
}

}  // namespace
}  // namespace tessera
