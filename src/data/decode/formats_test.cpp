// Every file of the fixture against what the library that users trust reads from it, to the bit.
#include <gtest/gtest.h>

#include "data/decode/decode.h"
#include "data/decode/mask.h"
#include "support/messages.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::numbers;

nlohmann::json entries_of(const char* group) {
  return testing::load_fixture("formats.json").at(group);
}

StackChoice choice_of(const nlohmann::json& entry) {
  const nlohmann::json choice = entry.value("choice", nlohmann::json::object());
  ImageConfig config;
  config.channels = choice.value("channels", std::vector<std::string>{});
  config.z = choice.value("z", "all");
  config.t = choice.value("t", "all");
  return stack_choice(config);
}

std::vector<float> as_floats(const Image& image) {
  if (!image.is_bytes()) return image.floats();
  return {image.bytes().begin(), image.bytes().end()};
}

void expect_same(const char* group, size_t at_least) {
  const auto entries = entries_of(group);
  ASSERT_GE(entries.size(), at_least);
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const DecodeOptions options{.channels = entry.at("channels").get<int>(), .stack = choice_of(entry)};
    Image image;
    ASSERT_EQ(testing::message_of([&] { image = decode_image(numbers<uint8_t>(entry.at("file")), options); }), "");
    EXPECT_EQ(image.height, entry.at("height"));
    EXPECT_EQ(image.width, entry.at("width"));
    EXPECT_EQ(image.max_value, entry.at("max_value").get<float>());
    EXPECT_EQ(as_floats(image), numbers<float>(entry.at("values")));
  }
}

TEST(Formats, StacksOfOmeAndImageJAsTifffileReadsThem) {
  expect_same("stacks", 30);
}

TEST(Formats, ArraysAndDeepPicturesAsNumpyAndPillowReadThem) {
  expect_same("arrays", 11);
}

TEST(Formats, DicomAsPydicomReadsIt) {
  expect_same("dicom", 16);
}

TEST(Formats, PicturesAsPillowReadsThem) {
  const auto entries = entries_of("pillow");
  ASSERT_GE(entries.size(), 14U);
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    const auto file = numbers<uint8_t>(entry.at("file"));
    const Image rgb = decode_image(file, {.channels = 3});
    EXPECT_EQ(rgb.size(), (Size{entry.at("height").get<int>(), entry.at("width").get<int>()}));
    EXPECT_EQ(rgb.bytes(), numbers<uint8_t>(entry.at("rgb")));
    EXPECT_EQ(decode_image(file, {.channels = 1}).bytes(), numbers<uint8_t>(entry.at("grey")));
  }
}

TEST(Formats, MasksGiveTheStoredValues) {
  const auto entries = entries_of("masks");
  ASSERT_GE(entries.size(), 14U);
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.at("name").get<std::string>());
    RawMask mask;
    ASSERT_EQ(testing::message_of([&] { mask = decode_mask(numbers<uint8_t>(entry.at("file"))); }), "");
    EXPECT_EQ(mask.values, numbers<int32_t>(entry.at("values")));
    EXPECT_EQ(mask.bits, entry.at("bits"));
  }
}

TEST(Formats, MorePixelsThanAllowedAreRefusedByTheHeader) {
  for (const char* group : {"stacks", "pillow", "arrays", "dicom"}) {
    for (const auto& entry : entries_of(group)) {
      const auto pixels = entry.at("height").get<uint64_t>() * entry.at("width").get<uint64_t>();
      EXPECT_CONTAINS(
          testing::message_of([&] { decode_image(numbers<uint8_t>(entry.at("file")), {.max_pixels = pixels - 1}); }),
          fmt::format("set data.max_pixels={}", pixels))
          << entry.at("name");
    }
  }
}

TEST(Formats, EveryFileCutAnywhereIsRefused) {
  for (const char* group : {"pillow", "arrays", "dicom"}) {
    for (const auto& entry : entries_of(group)) {
      const auto file = numbers<uint8_t>(entry.at("file"));
      const DecodeOptions options{.channels = entry.value("channels", 3), .stack = choice_of(entry)};
      for (size_t size = 1; size < file.size() - 16; size += 1 + file.size() / 50) {
        const std::span<const uint8_t> part = std::span(file).first(size);
        EXPECT_NE(testing::message_of([&] { decode_image(part, options); }), "")
            << entry.at("name") << " cut to " << size << " of " << file.size();
      }
    }
  }
}

}  // namespace
}  // namespace tessera
