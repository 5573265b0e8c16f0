#include "data/decode/decode.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::load_fixture;
using testing::numbers;
using testing::pillow_file;
using testing::pillow_image;

TEST(Decode, EqualsPillowOnEvery8BitFile) {
  const auto images = load_fixture("pillow/decode.json").at("images");
  ASSERT_GT(images.size(), 30U);
  for (const auto& entry : images) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto file = numbers<uint8_t>(entry.at("file"));
    const Image rgb = decode_image(file, {.channels = 3});
    EXPECT_EQ(rgb.height, entry.at("height"));
    EXPECT_EQ(rgb.width, entry.at("width"));
    EXPECT_EQ(rgb.channels, 3);
    EXPECT_EQ(rgb.max_value, 255.0F);
    EXPECT_EQ(rgb.bytes(), numbers<uint8_t>(entry.at("rgb")));
    const Image grey = decode_image(file, {.channels = 1});
    EXPECT_EQ(grey.channels, 1);
    EXPECT_EQ(grey.bytes(), numbers<uint8_t>(entry.at("grey")));
  }
}

TEST(Decode, DeeperFilesBecomeFloatsInTheirOwnRange) {
  const auto entries = load_fixture("pillow/decode.json").at("deep");
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const Image image = decode_image(numbers<uint8_t>(entry.at("file")), {.channels = entry.at("channels").get<int>()});
    EXPECT_EQ(image.height, entry.at("height"));
    EXPECT_EQ(image.width, entry.at("width"));
    EXPECT_EQ(image.max_value, entry.at("max_value").get<float>());
    EXPECT_EQ(image.floats(), numbers<float>(entry.at("values")));
  }
}

TEST(Decode, DeepGreyIsReplicatedAndDeepColourWeighed) {
  const auto grey = decode_image(pillow_file("decode", "deep", "png_16"), {.channels = 1});
  const auto replicated = decode_image(pillow_file("decode", "deep", "png_16"), {.channels = 3});
  EXPECT_EQ(replicated.floats()[5], grey.floats()[1]);
  const auto colour = decode_image(pillow_file("decode", "deep", "png_rgb_16"), {.channels = 3});
  const auto weighed = decode_image(pillow_file("decode", "deep", "png_rgb_16"), {.channels = 1});
  const auto& c = colour.floats();
  EXPECT_NEAR(weighed.floats()[2], 0.299 * c[6] + 0.587 * c[7] + 0.114 * c[8], 0.5);
  EXPECT_EQ(weighed.max_value, 65535.0F);
}

TEST(Decode, PagesAreChannels) {
  const auto entries = load_fixture("pillow/decode.json").at("stacks");
  for (const auto& entry : entries) {
    const auto file = numbers<uint8_t>(entry.at("file"));
    EXPECT_EQ(decode_image(file, {.channels = 5}).bytes(), numbers<uint8_t>(entry.at("pixels")));
    EXPECT_THROW(decode_image(file, {.channels = 3}), Error);
    EXPECT_THROW(decode_image(file, {.channels = 1}), Error);
  }
}

TEST(Decode, OtherChannelCountsAreTakenAsTheyAre) {
  EXPECT_EQ(decode_image(pillow_image("png_rgba"), {.channels = 4}).bytes(), testing::pattern(4).bytes());
  EXPECT_EQ(decode_image(pillow_image("png_la"), {.channels = 2}).bytes(), testing::pattern(2).bytes());
  EXPECT_EQ(decode_image(pillow_image("tiff_cmyk"), {.channels = 4}).bytes(), testing::pattern(4).bytes());
  EXPECT_THROW(decode_image(pillow_image("png_rgb"), {.channels = 4}), Error);
}

TEST(Decode, ExifOrientationIsAnOption) {
  const auto file = pillow_image("jpeg_oriented_6");
  EXPECT_EQ(decode_image(file, {.channels = 3, .exif_orientation = true}).size(), (Size{22, 17}));
  EXPECT_EQ(decode_image(file, {.channels = 3, .exif_orientation = false}).size(), (Size{17, 22}));
}

TEST(Decode, FormatIsFoundByMagicBytes) {
  EXPECT_EQ(detect_format(pillow_image("jpeg_l")), FileFormat::kJpeg);
  EXPECT_EQ(detect_format(pillow_image("png_l")), FileFormat::kPng);
  EXPECT_EQ(detect_format(pillow_image("tiff_l")), FileFormat::kTiff);
}

TEST(Decode, MorePixelsThanAllowedAreRefusedByTheHeader) {
  for (const char* name : {"png_rgba", "jpeg_420"}) {
    const auto file = testing::pillow_image(name);
    const Image image = decode_image(file, {});
    const auto pixels = static_cast<uint64_t>(image.height) * static_cast<uint64_t>(image.width);
    EXPECT_NO_THROW(decode_image(file, {.max_pixels = pixels})) << name;
    EXPECT_CONTAINS(testing::message_of([&] { decode_image(file, {.max_pixels = pixels - 1}); }),
                    fmt::format("set data.max_pixels={}", pixels));
  }
}

}  // namespace
}  // namespace tessera
