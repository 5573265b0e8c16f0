#include "data/datasets/class_count.h"

#include <gtest/gtest.h>

#include "data/datasets/dataset_factory.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(ClassCount, IsWhatTheDataSetWillHave) {
  DataConfig config;
  config.type = SourceType::kSynthetic;
  EXPECT_EQ(class_count(config), make_dataset(config, Split::kVal)->classes().size());
  config.synthetic.kind = SyntheticKind::kShapes;
  config.synthetic.num_classes = 7;
  EXPECT_EQ(class_count(config), 7);
  EXPECT_EQ(class_count(config), make_dataset(config, Split::kVal)->classes().size());
}

TEST(ClassCount, IsKnownWithoutFilesWhereTheConfigSaysIt) {
  DataConfig config;
  EXPECT_EQ(class_count(config), std::nullopt);  // pairs without names
  config.labels.binary = true;
  EXPECT_EQ(class_count(config), 2);
  config.type = SourceType::kAde20k;
  EXPECT_EQ(class_count(config), 150);
  config.type = SourceType::kCoco;
  EXPECT_EQ(class_count(config), 13);
  config.coco.background = false;
  config.coco.classes = CocoClasses::kCategory;
  EXPECT_EQ(class_count(config), 80);
  config.classes = {"sky", "ground", "tree"};
  EXPECT_EQ(class_count(config), 3);
}

TEST(KnownClasses, AreThoseOfTheDataSetWithoutItsFiles) {
  DataConfig config;
  config.type = SourceType::kAde20k;
  const auto ade20k = known_classes(config);
  ASSERT_TRUE(ade20k);
  EXPECT_EQ(ade20k->names.size(), 150U);
  EXPECT_EQ(ade20k->names[0], "wall");
  EXPECT_EQ(ade20k->palette.size(), 150U);
  config.type = SourceType::kPairs;
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { known_classes(config); }), "set data.classes");
  config.labels.binary = true;
  EXPECT_EQ(known_classes(config)->names, (std::vector<std::string>{"background", "foreground"}));
  config.type = SourceType::kCoco;  // whose annotations name them
  EXPECT_FALSE(known_classes(config));
  config.classes = {"sky", "ground"};
  EXPECT_EQ(known_classes(config)->names, config.classes);
}

}  // namespace
}  // namespace tessera
