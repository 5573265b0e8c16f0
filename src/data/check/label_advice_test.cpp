#include "data/check/label_advice.h"

#include <gtest/gtest.h>

#include <numeric>

#include "support/messages.h"

namespace tessera {
namespace {

using Keys = std::vector<std::string>;

MaskLook masks_of(const std::map<int32_t, int64_t>& values, int bits = 8, bool coloured = false) {
  MaskLook look;
  look.masks = 10;
  look.bits = bits;
  look.coloured = coloured;
  look.values = values;
  for (const auto& entry : values) look.pixels += entry.second;
  return look;
}

// As configs/pairs/unet.yaml has it.
DataConfig two_classes() {
  DataConfig config;
  config.classes = {"background", "foreground"};
  return config;
}

Keys keys_for(const MaskLook& masks, const DataConfig& config = two_classes(), bool names_given = false) {
  const LabelAdvice advice = advise_labels(masks, config, names_given);
  EXPECT_EQ(advice.mistake, "");
  return label_keys(advice, config);
}

TEST(LabelAdvice, AConfigThatFitsNeedsNothing) {
  EXPECT_FALSE(advise_labels(masks_of({{0, 9}, {1, 9}}), two_classes(), false).needed);
  EXPECT_FALSE(advise_labels(masks_of({{0, 9}, {1, 9}, {255, 1}}), two_classes(), false).needed);
  EXPECT_FALSE(advise_labels({}, two_classes(), false).needed);  // no mask could be read
  DataConfig ignoring = two_classes();
  ignoring.labels.ignore = {255};
  EXPECT_FALSE(advise_labels(masks_of({{0, 9}, {255, 9}}), ignoring, false).needed);
}

TEST(LabelAdvice, MasksOfObjectsAreBinary) {
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {255, 9}})), Keys{"data.labels.binary=true"});
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {65535, 9}}, 16)), Keys{"data.labels.binary=true"});
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {128, 9}})), Keys{"data.labels.binary=true"});
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {1, 9}}), DataConfig{}), Keys{"data.labels.binary=true"});
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {0xFF0000, 9}}, 8, true)), Keys{"data.labels.binary=true"});
}

TEST(LabelAdvice, ObjectNumbersAreBinaryAndTheOtherReadingIsSaid) {
  MaskLook cells = masks_of({{0, 90}, {1, 9}, {2, 9}, {3, 9}, {4, 9}, {5, 9}}, 16);
  cells.with_objects = cells.numbered_from_1 = 3;
  cells.values_in_masks = cells.pieces = 12;
  cells.value_counts = {{3, 1}, {4, 1}, {5, 1}};
  const LabelAdvice advice = advise_labels(cells, two_classes(), false);
  EXPECT_EQ(label_keys(advice, two_classes()), Keys{"data.labels.binary=true"});
  ASSERT_EQ(advice.others.size(), 1U);
  EXPECT_CONTAINS(advice.others[0],
                  "if the values are classes: 'data.classes=[class_0,class_1,class_2,class_3,class_4,class_5]'");
}

TEST(LabelAdvice, ClassNumbersGetNames) {
  const MaskLook three = masks_of({{0, 90}, {1, 9}, {2, 9}, {255, 3}});
  EXPECT_EQ(keys_for(three), Keys{"data.classes=[class_0,class_1,class_2]"});
  EXPECT_CONTAINS(advise_labels(three, two_classes(), false).reading, "255 is not labelled");
  DataConfig named;
  named.classes = {"sky", "road, wet"};
  EXPECT_EQ(keys_for(three, named, true), Keys{"data.classes=[sky,\"road, wet\",class_2]"});
}

TEST(LabelAdvice, ZeroIsNotLabelledWhereItIsRareOrMissing) {
  EXPECT_EQ(keys_for(masks_of({{1, 50}, {2, 50}, {3, 50}})),
            (Keys{"data.labels.offset=-1", "data.classes=[class_0,class_1,class_2]"}));
  const MaskLook rare = masks_of({{0, 1}, {1, 50}, {2, 50}, {3, 50}});
  EXPECT_EQ(keys_for(rare), (Keys{"data.labels.offset=-1", "data.classes=[class_0,class_1,class_2]"}));
  EXPECT_CONTAINS(advise_labels(rare, {}, false).others.at(0), "if 0 is a class");
  const MaskLook uncommon = masks_of({{0, 10}, {1, 50}, {2, 50}, {3, 50}});
  EXPECT_EQ(keys_for(uncommon), Keys{"data.classes=[class_0,class_1,class_2,class_3]"});
  EXPECT_CONTAINS(advise_labels(uncommon, {}, false).others.at(0), "data.labels.offset=-1");
}

TEST(LabelAdvice, ValuesWithGapsAreMapped) {
  EXPECT_EQ(keys_for(masks_of({{0, 90}, {7, 9}, {8, 9}, {255, 3}})),
            (Keys{"data.labels.map={0: 0, 7: 1, 8: 2}", "data.classes=[class_0,class_1,class_2]"}));
  // Grey levels at even distances: 255 is one of them.
  EXPECT_EQ(keys_for(masks_of({{0, 90}, {128, 9}, {255, 9}})),
            (Keys{"data.labels.map={0: 0, 128: 1, 255: 2}", "data.classes=[class_0,class_1,class_2]"}));
  EXPECT_CONTAINS(advise_labels(masks_of({{0, 90}, {1, 9}, {3, 9}}), {}, false).others.at(0), "classes that no mask shows");
}

TEST(LabelAdvice, ColoursAreListed) {
  const MaskLook colours = masks_of({{0, 90}, {0x0000FF, 9}, {0xFF0000, 9}}, 8, true);
  EXPECT_EQ(keys_for(colours),
            (Keys{"data.labels.colors=[[0,0,0],[0,0,255],[255,0,0]]", "data.classes=[class_0,class_1,class_2]"}));
  std::map<int32_t, int64_t> many;
  for (int32_t v = 0; v < 40; ++v) many[v * 3] = 1;
  const LabelAdvice smooth = advise_labels(masks_of(many, 8, true), two_classes(), false);
  EXPECT_CONTAINS(smooth.mistake, "the masks hold 40 colours, too many for classes");
  EXPECT_TRUE(label_keys(smooth, two_classes()).empty());
}

TEST(LabelAdvice, RulesThatDoNotFitAreTakenBack) {
  DataConfig wrong = two_classes();
  wrong.labels.offset = 3;
  wrong.labels.map = {{0, 0}};
  EXPECT_EQ(keys_for(masks_of({{0, 9}, {255, 9}, {17, 9}, {3, 4}}), wrong),
            (Keys{"data.labels.offset=0", "data.labels.map={0: 0, 3: 1, 17: 2}", "data.classes=[class_0,class_1,class_2]"}));
}

TEST(LabelAdvice, WhatCannotBeReadIsSaid) {
  EXPECT_CONTAINS(advise_labels(masks_of({{0, 9}}), {}, false).mistake, "nothing is marked");
  std::map<int32_t, int64_t> many;
  for (int32_t v = 0; v < 400; ++v) many[v * 7] = 1;
  EXPECT_CONTAINS(advise_labels(masks_of(many, 16), two_classes(), false).mistake, "400 different values");
}

}  // namespace
}  // namespace tessera
