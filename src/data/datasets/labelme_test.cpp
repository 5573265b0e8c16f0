#include "data/datasets/labelme.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/fixtures.h"
#include "support/image_files.h"

namespace tessera {
namespace {

using nlohmann::json;

json shape(const std::string& label, const std::string& type, const json& points) {
  return {{"label", label}, {"points", points}, {"group_id", nullptr}, {"shape_type", type}, {"flags", json::object()}};
}

json file_of(const json& shapes) {
  return {{"version", "5.5.0"},   {"flags", json::object()}, {"shapes", shapes}, {"imagePath", "a.png"},
          {"imageData", nullptr}, {"imageHeight", 4},        {"imageWidth", 6}};
}

std::vector<int16_t> labels_of(const json& file, const LabelConfig& rules = {}) {
  const std::string text = file.dump();
  return labelme_labels({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, {4, 6}, {"background", "cell", "dirt"},
                        rules)
      .labels;
}

std::string message_for(const json& file, const LabelConfig& rules = {}) {
  return testing::message_of([&] { labels_of(file, rules); });
}

const json kTriangle = {{0, 0}, {3, 0}, {0, 3}};

TEST(Labelme, ShapesAreDrawnInTheOrderOfTheFile) {
  const json file = file_of({shape("cell", "polygon", kTriangle), shape("dirt", "rectangle", {{4, 3}, {1, 1}}),
                             shape("__ignore__", "circle", {{5, 0}, {5, 0.5}})});
  const int16_t i = kIgnoreLabel;
  EXPECT_EQ(labels_of(file), (std::vector<int16_t>{1, 1, 1, 1, i, i,  //
                                                   1, 2, 2, 2, 2, 0,  //
                                                   1, 2, 2, 2, 2, 0,  //
                                                   1, 2, 2, 2, 2, 0}));
}

TEST(Labelme, BinaryTakesEveryLabelAndNoTypeIsAPolygon) {
  json old = shape("whatever", "", kTriangle);
  old.erase("shape_type");
  LabelConfig binary;
  binary.binary = true;
  EXPECT_EQ(labels_of(file_of(json::array({old})), binary)[0], 1);
}

TEST(Labelme, WhatIsWrongIsSaid) {
  const auto with = [](const json& one) { return file_of(json::array({one})); };
  EXPECT_CONTAINS(message_for(with(shape("cel", "polygon", kTriangle))), "its label 'cel' is none of data.classes");
  EXPECT_CONTAINS(message_for(with(shape("cel", "polygon", kTriangle))), "cell");
  EXPECT_CONTAINS(message_for(with(shape("cell", "mask", kTriangle))), "it is a 'mask'; polygons");
  EXPECT_CONTAINS(message_for(with(shape("cell", "point", kTriangle))), "a point has 3 points, expected 1");
  EXPECT_CONTAINS(message_for(with(shape("cell", "linestrip", json::array({{1, 1}})))), "a line has 1 points");
  EXPECT_CONTAINS(message_for(with(shape("cell", "circle", kTriangle))), "a circle has 3 points, expected 2");
  EXPECT_CONTAINS(message_for(with(shape("cell", "polygon", {{1, 2}, {3, 4}}))), "at least 3");
  EXPECT_CONTAINS(message_for(with(shape("cell", "polygon", {{1, 2}, {3, "4"}}))), "no pair of numbers");
  EXPECT_CONTAINS(message_for(with(shape("cell", "polygon", "x"))), "no list 'points'");
  EXPECT_CONTAINS(message_for(with({{"points", kTriangle}})), "no text 'label'");
  EXPECT_CONTAINS(message_for(with(5)), "it is no object");
  EXPECT_CONTAINS(message_for({{"shapes", 5}}), "no list 'shapes'");
  EXPECT_CONTAINS(message_for(json::array()), "not valid JSON");
  LabelConfig rules;
  rules.offset = -1;
  EXPECT_CONTAINS(message_for(with(shape("cell", "polygon", kTriangle)), rules), "data.labels has no effect");
}

// As labelme leaves a folder: a.json beside a.png, some images without.
TEST(Labelme, AFolderIsFoundAsPairs) {
  const testing::TempFolder folder;
  for (const char* name : {"a", "b"}) {
    testing::write_image(folder / fmt::format("{}.png", name));
    write_file(folder / fmt::format("{}.json", name), file_of(json::array({shape("cell", "polygon", kTriangle)})).dump());
  }
  write_file(folder / "project.json", R"({"name": "not labelme's"})");
  DataConfig config;
  config.path = folder.path().string();
  config.classes = {"background", "cell"};
  config.val_share = 0.5;
  const DatasetPtr data = make_dataset(config, Split::kTrain);
  ASSERT_EQ(data->size(), 1);
  EXPECT_EQ(data->get(0).labels.value().at(0, 0), 1);
  EXPECT_EQ(data->get(0).labels.value().at(3, 5), 0);
  EXPECT_FALSE(data->encoded(0).has_value());  // a list of shapes is no mask file
  EXPECT_EQ(make_dataset(config, Split::kVal)->size(), 1);
}

TEST(Labelme, SplitsAndFoldersOfTheirOwnAreFound) {
  const testing::TempFolder folder;
  for (const char* split : {"train", "val"}) {
    testing::write_image(folder / fmt::format("{}/a.png", split));
    write_file(folder / fmt::format("{}/a.json", split), file_of(json::array({shape("cell", "polygon", kTriangle)})).dump());
  }
  DataConfig config;
  config.path = folder.path().string();
  config.classes = {"background", "cell"};
  EXPECT_EQ(make_dataset(config, Split::kVal)->get(0).labels.value().at(0, 0), 1);

  const testing::TempFolder two;
  testing::write_image(two / "images/a.png");
  make_folders(two / "annotations");
  write_file(two / "annotations/a.json", file_of(json::array({shape("cel", "polygon", kTriangle)})).dump());
  config.path = two.path().string();
  config.val_share = 0;
  const DatasetPtr data = make_dataset(config, Split::kTrain);
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] { data->get(0); }), "a.json: shape 0: its label 'cel'");
}

}  // namespace
}  // namespace tessera
