#include "data/decode/plain_png.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/rng.h"
#include "data/decode/png.h"
#include "data/decode/png_writer.h"
#include "support/handmade_files.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::append;
using testing::big_endian;
using testing::Bytes;
using testing::png_chunk;

Bytes random_bytes(size_t count, Rng& rng, uint32_t most = 256) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.below(most));
  return bytes;
}

Bytes header_of(Size size, uint8_t bits, uint8_t color_type, uint8_t interlaced = 0) {
  Bytes header = big_endian(static_cast<uint32_t>(size.width));
  append(header, big_endian(static_cast<uint32_t>(size.height)));
  append(header, {bits, color_type, 0, 0, interlaced});
  return header;
}

int channels_of(uint8_t color_type) {
  return color_type == 2 ? 3 : color_type == 4 ? 2 : color_type == 6 ? 4 : 1;
}

// Rows of random bytes, each with a random filter.
Bytes filtered_rows(Size size, int channels, Rng& rng, uint32_t filters = 5) {
  Bytes rows;
  for (int y = 0; y < size.height; ++y) {
    rows.push_back(static_cast<uint8_t>(rng.below(filters)));
    append(rows, random_bytes(static_cast<size_t>(size.width) * static_cast<size_t>(channels), rng));
  }
  return rows;
}

// The pixels in `pieces` chunks.
Bytes png_of(Size size, uint8_t color_type, const Bytes& rows, size_t pieces = 1, const Bytes& before_pixels = {}) {
  Bytes file = testing::png_signature();
  append(file, png_chunk("IHDR", header_of(size, 8, color_type)));
  append(file, before_pixels);
  const Bytes stream = testing::zlib_stored(rows);
  for (size_t i = 0; i < pieces; ++i) {
    const auto at = [&](size_t k) { return stream.begin() + static_cast<ptrdiff_t>(stream.size() * k / pieces); };
    append(file, png_chunk("IDAT", Bytes(at(i), at(i + 1))));
  }
  append(file, png_chunk("IEND", {}));
  return file;
}

void expect_as_spng(const Bytes& file) {
  const std::optional<Raster> plain = decode_plain_png(file);
  ASSERT_TRUE(plain.has_value());
  const Raster expected = decode_any_png(file);
  EXPECT_EQ(plain->image.size(), expected.image.size());
  EXPECT_EQ(plain->image.channels, expected.image.channels);
  EXPECT_EQ(plain->image.max_value, expected.image.max_value);
  EXPECT_TRUE(plain->image.pixels == expected.image.pixels);
  EXPECT_EQ(plain->kind, expected.kind);
  EXPECT_EQ(plain->bits, expected.bits);
  EXPECT_EQ(plain->palette, expected.palette);
}

TEST(PlainPng, EveryFilterAndKindOfColourEqualsSpng) {
  Rng rng(1, Stream::kSynthetic);
  for (const uint8_t color_type : {0, 2, 3, 4, 6}) {
    for (const int width : {1, 2, 3, 15, 16, 17, 33, 100}) {
      SCOPED_TRACE(::testing::Message() << "colour type " << int{color_type} << ", width " << width);
      const Size size{1 + static_cast<int>(rng.below(40)), width};
      const Bytes palette = color_type == 3 ? png_chunk("PLTE", random_bytes(3 * 256, rng)) : Bytes{};
      expect_as_spng(png_of(size, color_type, filtered_rows(size, channels_of(color_type), rng), 1 + rng.below(4), palette));
    }
  }
}

// As masks are: few bytes differ from what a filter guesses.
TEST(PlainPng, RowsThatAreMostlyAsGuessedEqualSpng) {
  Rng rng(7, Stream::kSynthetic);
  for (int round = 0; round < 40; ++round) {
    const Size size{30, 1 + static_cast<int>(rng.below(100))};
    Bytes rows = filtered_rows(size, 1, rng);
    const uint32_t kept = 2 + rng.below(30);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i % (static_cast<size_t>(size.width) + 1) != 0 && rng.below(kept) != 0) rows[i] = 0;
    }
    expect_as_spng(png_of(size, 0, rows));
  }
}

TEST(PlainPng, TakesWhatOurWriterAndPillowWrite) {
  Rng rng(2, Stream::kSynthetic);
  LabelMap labels(70, 90);
  for (int16_t& label : labels.labels) label = static_cast<int16_t>(rng.below(6));
  expect_as_spng(encode_png_labels(labels));
  expect_as_spng(encode_png_palette(labels, std::vector<Color>(6, Color{1, 2, 3})));
  for (const char* name : {"png_l", "png_rgb", "png_rgba", "png_la"}) {
    SCOPED_TRACE(name);
    expect_as_spng(testing::pillow_image(name));
  }
}

TEST(PlainPng, LeavesTheRestToSpng) {
  for (const char* name : {"png_p4", "png_1", "png_l2", "png_interlaced_l", "png_oriented_6", "png_p_transparent"}) {
    EXPECT_FALSE(decode_plain_png(testing::pillow_image(name)).has_value()) << name;
  }
  Rng rng(3, Stream::kSynthetic);
  const Size size{5, 7};
  const Bytes rows = filtered_rows(size, 1, rng);
  EXPECT_TRUE(decode_plain_png(png_of(size, 0, rows)).has_value());
  EXPECT_FALSE(decode_plain_png(png_of(size, 0, rows), 34).has_value());                         // more than max_pixels
  EXPECT_FALSE(decode_plain_png(png_of(size, 0, rows, 1, png_chunk("tEXt", {1}))).has_value());  // other chunks
  EXPECT_FALSE(decode_plain_png(png_of(size, 0, rows, 1, png_chunk("PLTE", {1, 2, 3}))).has_value());
  EXPECT_FALSE(decode_plain_png(png_of(size, 3, rows)).has_value());    // no palette
  EXPECT_FALSE(decode_plain_png(png_of({6, 7}, 0, rows)).has_value());  // too few rows
  EXPECT_FALSE(decode_plain_png(png_of({4, 7}, 0, rows)).has_value());  // too many
  Bytes odd = rows;
  odd[8] = 5;
  EXPECT_FALSE(decode_plain_png(png_of(size, 0, odd)).has_value());  // no such filter
  EXPECT_FALSE(decode_plain_png({}).has_value());
}

// decode_png gives what spng gives, and fails where spng fails, whatever is done to a file.
TEST(PlainPng, NoDamageIsReadThatSpngWouldRefuse) {
  Rng rng(4, Stream::kSynthetic);
  const Size size{20, 30};
  const Bytes file = png_of(size, 2, filtered_rows(size, 3, rng), 3);
  const auto pixels_of = [](const Bytes& bytes, const auto& decode) -> std::optional<Bytes> {
    try {
      return decode(bytes).image.bytes();
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes hit = file;
    const auto at = rng.below(static_cast<uint32_t>(hit.size()));
    switch (rng.below(3)) {
      case 0: hit[at] ^= static_cast<uint8_t>(1 + rng.below(255)); break;
      case 1: hit.resize(at); break;
      default: hit.erase(hit.begin() + at); break;
    }
    const auto expected = pixels_of(hit, [](const Bytes& bytes) { return decode_any_png(bytes); });
    EXPECT_EQ(pixels_of(hit, [](const Bytes& bytes) { return decode_png(bytes); }), expected) << round;
    refused += expected ? 0 : 1;
  }
  EXPECT_GT(refused, 2500);
}

}  // namespace
}  // namespace tessera
