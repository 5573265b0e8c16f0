#include "data/datasets/dataset_factory.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(DatasetFactory, MakesSyntheticDataWithoutAnyFile) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  const DatasetPtr data = make_dataset(config, Split::kVal);
  EXPECT_EQ(data->size(), 40);
  EXPECT_EQ(data->get(39).id, data->id(39));
}

TEST(DatasetFactory, ASyntheticTestSplitHasImagesOfItsOwnAndIsThereWhereAskedFor) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  EXPECT_EQ(make_test_set(config), nullptr);
  config.test.count = 2;
  const DatasetPtr test = make_test_set(config);
  ASSERT_NE(test, nullptr);
  EXPECT_EQ(test->size(), 2);
  EXPECT_NE(test->get(0).image.bytes(), make_dataset(config, Split::kVal)->get(0).image.bytes());
}

TEST(DatasetFactory, OnlyShardsMayLieBehindAUrl) {
  DataConfig config;
  config.path = "s3://bucket/cells";
  for (const SourceType type : {SourceType::kPairs, SourceType::kAde20k, SourceType::kCoco}) {
    config.type = type;
    EXPECT_CONTAINS(testing::message_of<UsageError>([&] { make_dataset(config, Split::kTrain); }), "tessera data convert");
  }
  config.type = SourceType::kSynthetic;  // looks at no place
  EXPECT_GT(make_dataset(config, Split::kVal)->size(), 0);
}

TEST(DatasetFactory, LabelRulesWithoutEffectAreRefused) {
  std::vector<LabelConfig> rules(5);
  rules[0].binary = true;
  rules[1].offset = -1;
  rules[2].map = {{1, 0}};
  rules[3].ignore = {255};
  rules[4].colors = {{0, 0, 0}};
  for (SourceType type : {SourceType::kAde20k, SourceType::kCoco, SourceType::kSynthetic}) {
    for (const LabelConfig& labels : rules) {
      DataConfig config;
      config.type = type;
      config.labels = labels;
      EXPECT_CONTAINS(testing::message_of<UsageError>([&] { make_dataset(config, Split::kTrain); }),
                      fmt::format("data.labels has no effect for type {}", name_of(type)));
    }
  }
}

TEST(DatasetFactory, EverySourceOfFilesAsksForItsPath) {
  for (SourceType type : {SourceType::kPairs, SourceType::kAde20k, SourceType::kCoco}) {
    DataConfig config;
    config.type = type;
    config.classes = {"a", "b"};
    EXPECT_THROW(make_dataset(config, Split::kTrain), Error) << name_of(type);
    config.path = "/nowhere/at/all";
    EXPECT_THROW(make_dataset(config, Split::kTrain), Error) << name_of(type);
  }
}

}  // namespace
}  // namespace tessera
