// Label images as they go wrong in real data sets; see broken_inputs_test.cpp for files that are no images.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "core/error.h"
#include "data/decode/label_rules.h"
#include "data/decode/mask.h"
#include "support/handmade_files.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using namespace testing;

struct Broken {
  const char* name;
  std::function<Bytes()> make;
  const char* message;
  LabelConfig config = {};
};
void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

constexpr int kNumClasses = 150;

Bytes grey_png(uint8_t left, uint8_t right) {
  return handmade_png(png_header(2, 1, 8, 0), {0, left, right});
}
Bytes rgb_png(Color color) {
  return handmade_png(png_header(1, 1, 8, 2), {0, color[0], color[1], color[2]});
}
Bytes half_in_a_float() {
  HandmadeTiff tiff = grey_tiff(1, 1, 32, {{0, 0, 0, 0x3F}});
  tiff.set(339, {3});
  return tiff.file();
}
Bytes minus_one(uint32_t bits) {
  HandmadeTiff tiff = grey_tiff(1, 1, bits, {Bytes(bits / 8, 0xFF)});
  tiff.set(339, {2});
  return tiff.file();
}
LabelConfig with_colors(std::vector<std::vector<int64_t>> colors) {
  LabelConfig config;
  config.colors = std::move(colors);
  return config;
}
LabelConfig with_map(std::map<int64_t, int64_t> map) {
  LabelConfig config;
  config.map = std::move(map);
  return config;
}
LabelConfig with_offset(int64_t offset) {
  LabelConfig config;
  config.offset = offset;
  return config;
}

const Broken kBroken[] = {
    {"jpeg", [] { return pillow_image("jpeg_l"); }, "the mask is a JPEG: expected PNG or TIFF. JPEG is lossy"},
    {"lossy_webp", [] { return formats_file("pillow", "webp_lossy"); },
     "the mask is a WebP of the lossy kind: expected PNG or TIFF"},
    {"jpeg_2000", [] { return formats_file("pillow", "jp2_grey"); }, "the mask is a JPEG 2000: expected PNG or TIFF"},
    {"web_page",
     [] {
       return Bytes{'<', '!', 'D', 'O'};
     },
     "is it a web page?"},
    {"truncated",
     [] {
       return Bytes{0x89, 'P', 'N', 'G'};
     },
     "PNG is truncated"},
    {"fractional", half_in_a_float, "the mask has the value 0.5 at (y 0, x 0): expected whole numbers of 0 to 65535"},
    {"negative_8_bit", [] { return minus_one(8); }, "the mask has the value -1 at (y 0, x 0): expected whole numbers"},
    {"negative_16_bit", [] { return minus_one(16); }, "the mask has the value -1 at (y 0, x 0): expected whole numbers"},
    {"negative_32_bit", [] { return minus_one(32); }, "the mask has the value -1 at (y 0, x 0): expected whole numbers"},
    {"beyond_16_bit",
     [] {
       return grey_tiff(2, 1, 32, {{1, 0, 0, 0, 0, 0, 1, 0}}).file();
     },
     "the mask has the value 65536 at (y 0, x 1): expected whole numbers"},
    {"rgb_16_bit", [] { return pillow_file("decode", "deep", "png_rgb_16"); }, "the mask is RGB of 16 bits"},
    {"pages", [] { return pillow_file("decode", "stacks", "tiff_pages"); }, "the mask has 5 channels without a meaning"},
    {"cmyk", [] { return pillow_image("tiff_cmyk"); }, "the mask has 4 channels without a meaning"},
    {"label_200_of_150", [] { return grey_png(0, 200); },
     "label 200 at (y 0, x 1): expected 0..149 (150 classes); set data.labels.map"},
    {"label_152_with_offset", [] { return grey_png(1, 152); },
     "label 152 at (y 0, x 1): expected 0..149 (150 classes) after offset -1", with_offset(-1)},
    {"value_not_in_map", [] { return grey_png(1, 2); }, "label 2 at (y 0, x 1) is not in data.labels.map (1 entries)",
     with_map({{1, 0}})},
    {"map_to_no_class", [] { return grey_png(1, 1); }, "label 1 at (y 0, x 0): expected 0..149", with_map({{1, 150}})},
    {"colours_without_a_list",
     [] {
       return rgb_png({1, 2, 3});
     },
     "list the class colours in data.labels.colors"},
    {"unlisted_colour",
     [] {
       return rgb_png({1, 2, 3});
     },
     "colour [1, 2, 3] at (y 0, x 0) is not one of the 1 in data.labels.colors", with_colors({{0, 0, 0}})},
    {"colour_of_two_numbers",
     [] {
       return rgb_png({1, 2, 3});
     },
     "data.labels.colors[0] has 2 numbers", with_colors({{0, 0}})},
};

class BrokenMask : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenMask, SaysWhatIsWrong) {
  const Bytes file = GetParam().make();
  EXPECT_CONTAINS(testing::message_of([&] { apply_label_rules(decode_mask(file), GetParam().config, kNumClasses); }),
                  GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, BrokenMask, ::testing::ValuesIn(kBroken),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera
