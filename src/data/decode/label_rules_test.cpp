#include "data/decode/label_rules.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Labels = std::vector<int16_t>;
constexpr int16_t kNone = kIgnoreLabel;

RawMask row(std::vector<int32_t> values, int bits = 8) {
  RawMask mask{.height = 1, .width = static_cast<int>(values.size()), .values = {}, .palette = {}};
  mask.values = std::move(values);
  mask.bits = bits;
  return mask;
}
RawMask colours(std::vector<int32_t> values) {
  RawMask mask = row(std::move(values));
  mask.rgb = true;
  return mask;
}
Labels apply(const RawMask& mask, const LabelConfig& config, int num_classes) {
  return apply_label_rules(mask, config, num_classes).labels;
}
std::string message(const RawMask& mask, const LabelConfig& config, int num_classes) {
  return testing::message_of([&] { apply_label_rules(mask, config, num_classes); });
}

TEST(LabelRules, ValuesAreClassesByDefault) {
  EXPECT_EQ(apply(row({0, 2, 1}), {}, 3), (Labels{0, 2, 1}));
}

TEST(LabelRules, BinaryTakesEverythingButZeroAsOne) {
  LabelConfig config;
  config.binary = true;
  EXPECT_EQ(apply(row({0, 255, 17}), config, 2), (Labels{0, 1, 1}));
  EXPECT_EQ(apply(colours({0, 0x010000}), config, 2), (Labels{0, 1}));
}

TEST(LabelRules, BinaryReadsBlackAndWhitePalettesByColour) {
  constexpr Color kBlack{0, 0, 0}, kWhite{255, 255, 255}, kRed{255, 0, 0};
  LabelConfig config;
  config.binary = true;
  const auto labels = [&](std::vector<int32_t> values, std::vector<Color> palette) {
    RawMask mask = row(std::move(values));
    mask.palette = std::move(palette);
    return apply(mask, config, 2);
  };
  EXPECT_EQ(labels({0, 1}, {kWhite, kBlack}), (Labels{1, 0}));
  EXPECT_EQ(labels({0, 1}, {kBlack, kWhite}), (Labels{0, 1}));
  EXPECT_EQ(labels({0, 0}, {kWhite}), (Labels{1, 1}));  // full and empty masks of such a set
  EXPECT_EQ(labels({1, 1}, {kWhite, kBlack}), (Labels{0, 0}));
  EXPECT_EQ(labels({3, 1}, {kRed, kWhite, kRed, kBlack}), (Labels{0, 1}));  // colours that no pixel has do not matter
  // Other palettes: the index.
  EXPECT_EQ(labels({0, 1}, {kWhite, kRed}), (Labels{0, 1}));
  EXPECT_EQ(labels({0, 0}, {kWhite, kRed}), (Labels{0, 0}));
  EXPECT_EQ(labels({0, 1, 2}, {kWhite, kBlack, kRed}), (Labels{0, 1, 1}));
  EXPECT_EQ(labels({0, 1}, {kBlack, kBlack}), (Labels{0, 1}));
  EXPECT_EQ(labels({0, 1, 7}, {kWhite, kBlack}), (Labels{0, 1, 1}));  // 7 has no colour
  config.ignore = {0};
  EXPECT_EQ(labels({0, 1}, {kWhite, kBlack}), (Labels{kNone, 0}));
}

TEST(LabelRules, OffsetMakesNegativesIgnored) {
  LabelConfig config;
  config.offset = -1;
  EXPECT_EQ(apply(row({0, 1, 150}), config, 150), (Labels{kNone, 0, 149}));
}

TEST(LabelRules, IgnoreIsTestedOnTheStoredValueFirst) {
  LabelConfig config;
  config.ignore = {3};
  config.offset = -1;
  EXPECT_EQ(apply(row({3, 4}), config, 5), (Labels{kNone, 3}));
  config.binary = true;
  EXPECT_EQ(apply(row({3, 4}), config, 2), (Labels{kNone, 1}));
}

TEST(LabelRules, MapComesBeforeOffset) {
  LabelConfig config;
  config.map = {{7, 1}, {9, 2}, {11, 0}};
  config.offset = -1;
  EXPECT_EQ(apply(row({7, 9, 11}), config, 2), (Labels{0, 1, kNone}));
  EXPECT_EQ(message(row({7, 8}), config, 2),
            "label 8 at (y 0, x 1) is not in data.labels.map (3 entries); add it there or to data.labels.ignore");
}

TEST(LabelRules, TheLargestValueIsIgnoredWhereItIsNoClass) {
  EXPECT_EQ(apply(row({0, 255}), {}, 3), (Labels{0, kNone}));
  EXPECT_EQ(apply(row({0, 255}), {}, 256), (Labels{0, 255}));
  EXPECT_EQ(apply(row({0, 65535}, 16), {}, 3), (Labels{0, kNone}));
  EXPECT_NE(message(row({0, 255}, 16), {}, 3), "no error");
  LabelConfig mapped;
  mapped.map = {{0, 0}, {255, 1}};
  EXPECT_EQ(apply(row({0, 255}), mapped, 2), (Labels{0, 1}));
  mapped.map = {{0, 0}};
  EXPECT_EQ(apply(row({0, 255}), mapped, 2), (Labels{0, kNone}));
  LabelConfig offset;
  offset.offset = -1;
  EXPECT_EQ(apply(row({255}), offset, 150), (Labels{kNone}));
  EXPECT_EQ(apply(row({255}), offset, 255), (Labels{254}));
}

TEST(LabelRules, OutOfRangeSaysWhereAndWhatToSet) {
  LabelConfig config;
  config.offset = -1;
  RawMask mask = row(std::vector<int32_t>(40, 1));
  mask.height = 4;
  mask.width = 10;
  mask.values[35] = 200;
  EXPECT_EQ(
      message(mask, config, 150),
      "label 200 at (y 3, x 5): expected 0..149 (150 classes) after offset -1; set data.labels.map/ignore or data.classes");
}

TEST(LabelRules, ColoursAreLookedUpInOrder) {
  LabelConfig config;
  config.colors = {{0, 0, 0}, {128, 64, 32}};
  EXPECT_EQ(apply(colours({0x804020, 0}), config, 2), (Labels{1, 0}));
  EXPECT_EQ(message(colours({0x010203}), config, 2),
            "colour [1, 2, 3] at (y 0, x 0) is not one of the 2 in data.labels.colors; add it, or put 0x010203 into "
            "data.labels.ignore");
  config.ignore = {66051};
  EXPECT_EQ(apply(colours({0x010203, 0}), config, 2), (Labels{kNone, 0}));
}

TEST(LabelRules, ColoursApplyToPalettesAndGreyToo) {
  LabelConfig config;
  config.colors = {{0, 0, 0}, {255, 255, 255}};
  EXPECT_EQ(apply(row({255, 0}), config, 2), (Labels{1, 0}));
  RawMask palette = row({0, 1});
  palette.palette = {{255, 255, 255}, {0, 0, 0}};
  EXPECT_EQ(apply(palette, config, 2), (Labels{1, 0}));
}

TEST(LabelRules, SixteenBitGreyHasNoColours) {
  LabelConfig config;
  config.colors = {{0, 0, 0}, {255, 255, 255}};
  EXPECT_EQ(message(row({0, 0xFFFF}, 16), config, 2),
            "the mask is grey of 16 bits: data.labels.colors needs colours of 8 bits; convert it, or use data.labels.map");
  EXPECT_NE(message(row({0, 256}, 16), config, 2), "no error");  // was read as its low byte, 0
}

TEST(LabelRules, MoreColoursThanClassesAreCounted) {
  LabelConfig config;
  config.colors = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  const std::string expected =
      "data.labels.colors has 3 entries and data.classes 2: expected at most one colour per class; name every class";
  EXPECT_EQ(message(row({0}), config, 2), expected);
  EXPECT_THROW(check_label_rules(config, 2), UsageError);
  EXPECT_NO_THROW(check_label_rules(config, 3));
}

TEST(LabelRules, IgnoredColoursCanBeWrittenInHexadecimal) {
  const auto labels = [](const std::string& text) { return load_experiment("", {"data.labels." + text}).data.labels; };
  EXPECT_EQ(labels("ignore=[0x010203, 0xFFffFF, 0X0a]").ignore, (std::vector<int64_t>{66051, 16777215, 10}));
  EXPECT_EQ(labels("map={0x10: 1}").map, (std::map<int64_t, int64_t>{{16, 1}}));
  for (const char* text : {"ignore=[0x]", "ignore=[0xG0]", "ignore=[0x-1]", "ignore=[x10]", "ignore=[0x10000000000000000]"}) {
    EXPECT_THROW(labels(text), UsageError) << text;
  }
}

TEST(LabelRules, IgnoreSeesGreyStoredAsRgbAsGrey) {
  LabelConfig config;
  config.binary = true;
  config.ignore = {255};
  EXPECT_EQ(apply(colours({0, 0x010101, 0xFFFFFF}), config, 2), (Labels{0, 1, kNone}));
  // A mask with one coloured pixel is a colour mask: 255 is blue there, white is 0xFFFFFF.
  EXPECT_EQ(apply(colours({0, 0x0000FF, 0xFFFFFF}), config, 2), (Labels{0, kNone, 1}));
  config.ignore = {0xFFFFFF};
  EXPECT_EQ(apply(colours({0, 0x010101, 0xFFFFFF}), config, 2), (Labels{0, 1, kNone}));
  config = {};
  config.colors = {{0, 0, 0}, {1, 1, 1}};
  config.ignore = {0xFFFFFF};
  EXPECT_EQ(apply(colours({0, 0x010101, 0xFFFFFF}), config, 2), (Labels{0, 1, kNone}));
}

TEST(LabelRules, GreyStoredAsRgbIsReadAsGrey) {
  EXPECT_EQ(apply(colours({0x010101, 0xFFFFFF}), {}, 3), (Labels{1, kNone}));
  EXPECT_NE(message(colours({0x010101, 0x010102}), {}, 3).find("data.labels.colors"), std::string::npos);
}

}  // namespace
}  // namespace tessera
