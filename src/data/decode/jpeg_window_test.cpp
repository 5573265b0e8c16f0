#include "data/decode/jpeg_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/rng.h"
#include "data/decode/jpeg.h"
#include "data/decode/jpeg_reader.h"
#include "data/simd/jpeg_loops.h"
#include "support/jpeg_files.h"

namespace tessera {
namespace {

using testing::encode_jpeg;
using testing::JpegKind;
using Bytes = std::vector<uint8_t>;

// Of smooth parts, edges and noise, so that blocks have few and many coefficients.
Image picture(Size size, int channels, Rng& rng) {
  Image image(size.height, size.width, channels);
  const int unit = 1 + static_cast<int>(rng.below(30));
  const uint32_t noise = rng.chance(0.5) ? 2 : 1 + rng.below(200);
  size_t at = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int level = (y / unit + x / unit + c) % 4 * 80 + y / (c + 1) + x / (4 - c);
        image.bytes()[at++] = static_cast<uint8_t>(std::min(255, level % 256 + static_cast<int>(rng.below(noise))));
      }
    }
  }
  return image;
}

PixelArea random_area(Size size, Rng& rng) {
  const auto range = [&](int all) {
    const int a = static_cast<int>(rng.below(static_cast<uint32_t>(all))),
              b = static_cast<int>(rng.below(static_cast<uint32_t>(all)));
    return std::pair(std::min(a, b), std::max(a, b) + 1);
  };
  const auto [top, bottom] = range(size.height);
  const auto [left, right] = range(size.width);
  return {top, left, bottom, right};
}

Bytes cut_out(const Image& image, const PixelArea& area) {
  Bytes pixels;
  const auto channels = static_cast<size_t>(image.channels);
  for (int y = area.top; y < area.bottom; ++y) {
    const uint8_t* row = image.bytes().data() + static_cast<size_t>(y) * static_cast<size_t>(image.width) * channels;
    pixels.insert(pixels.end(), row + static_cast<size_t>(area.left) * channels,
                  row + static_cast<size_t>(area.right) * channels);
  }
  return pixels;
}

// By the decoder under test; nothing where it leaves the file to libjpeg.
std::optional<Bytes> window_of(const Bytes& file, const PixelArea& area) {
  JpegReader reader(file, true, kMaxPixels);
  Bytes pixels;
  if (!decode_jpeg_window(*reader, area, pixels)) return std::nullopt;
  return pixels;
}

bool can_decode() {
  return jpeg_loops() != nullptr;
}

constexpr uint8_t kScan[] = {0xFF, 0xDA};  // the marker before the pixels

const std::vector<JpegKind> kOurKinds = {
    {.horizontal = 1, .vertical = 1}, {.horizontal = 2, .vertical = 1}, {.horizontal = 2, .vertical = 2}};

TEST(JpegWindow, EveryWindowEqualsThatOfTheWholeImage) {
  if (!can_decode()) GTEST_SKIP() << "needs AVX2";
  Rng rng(1, Stream::kSynthetic);
  for (int round = 0; round < 400; ++round) {
    JpegKind kind = kOurKinds[rng.below(3)];
    kind.quality = 1 + static_cast<int>(rng.below(100));
    kind.optimized = rng.chance(0.5);
    const Size size{1 + static_cast<int>(rng.below(90)), 5 + static_cast<int>(rng.below(140))};
    const int channels = rng.chance(0.2) ? 1 : 3;
    if (channels == 1) kind.horizontal = kind.vertical = 1;
    const Bytes file = encode_jpeg(picture(size, channels, rng), kind);
    const Image whole = decode_jpeg(file, true).image;
    for (int i = 0; i < 8; ++i) {
      const PixelArea area = i == 0 ? PixelArea{0, 0, size.height, size.width} : random_area(size, rng);
      SCOPED_TRACE(::testing::Message() << size.height << " x " << size.width << ", colours " << kind.horizontal << " x "
                                        << kind.vertical << ", quality " << kind.quality << ", area " << area.top << " "
                                        << area.left << " " << area.bottom << " " << area.right);
      const std::optional<Bytes> window = window_of(file, area);
      ASSERT_TRUE(window.has_value());
      ASSERT_TRUE(*window == cut_out(whole, area));
    }
  }
}

TEST(JpegWindow, LeavesOtherKindsToTheLibrary) {
  Rng rng(2, Stream::kSynthetic);
  const Image image = picture({60, 70}, 3, rng);
  for (const JpegKind& kind : std::vector<JpegKind>{{.progressive = true},
                                                    {.restart_rows = 1},
                                                    {.separate_scans = true},
                                                    {.horizontal = 4, .vertical = 1},
                                                    {.horizontal = 1, .vertical = 2}}) {
    EXPECT_FALSE(window_of(encode_jpeg(image, kind), {0, 0, 60, 70}).has_value());
  }
  EXPECT_FALSE(window_of(encode_jpeg(picture({60, 4}, 3, rng)), {0, 0, 60, 4}).has_value());
}

// A damaged file beside libjpeg: what it gives is what libjpeg gives, and where libjpeg fails, it gives nothing.
struct Comparison {
  int read = 0, refused = 0;

  void add(const Bytes& file, Rng& rng) {
    std::optional<Image> whole;
    std::string message;
    try {
      whole = decode_jpeg(file, true).image;
    } catch (const Error& error) {
      message = error.what();
      ++refused;
    }
    try {
      const PixelArea area = whole ? random_area(whole->size(), rng) : PixelArea{0, 0, 1, 1};
      const std::optional<Bytes> window = window_of(file, area);
      if (!window) return;
      ++read;
      ASSERT_TRUE(whole.has_value()) << message;
      ASSERT_TRUE(*window == cut_out(*whole, area));
    } catch (const Error&) {
      ASSERT_FALSE(whole.has_value());  // the header, which libjpeg reads for both
    }
  }
};

TEST(JpegWindow, NoDamageIsReadThatTheLibraryWouldRefuse) {
  if (!can_decode()) GTEST_SKIP() << "needs AVX2";
  Rng rng(3, Stream::kSynthetic);
  Comparison all;
  for (int round = 0; round < 4000 && !HasFatalFailure(); ++round) {
    SCOPED_TRACE(round);
    JpegKind kind = kOurKinds[rng.below(3)];
    kind.quality = 20 + static_cast<int>(rng.below(80));
    kind.optimized = rng.chance(0.3);
    const Size size{1 + static_cast<int>(rng.below(40)), 5 + static_cast<int>(rng.below(40))};
    Bytes file = encode_jpeg(picture(size, 3, rng), kind);
    for (uint32_t hits = 1 + rng.below(2); hits > 0; --hits) {
      const uint32_t at = 2 + rng.below(static_cast<uint32_t>(file.size()) - 4);
      switch (rng.below(4)) {
        case 0: file.resize(at + 2); break;
        case 1: file.erase(file.begin() + at); break;
        case 2: file[at] = static_cast<uint8_t>(rng.bits()); break;
        default: file[at] ^= static_cast<uint8_t>(1U << rng.below(8)); break;
      }
    }
    all.add(file, rng);
  }
  EXPECT_GT(all.read, 100);
  EXPECT_GT(all.refused, 1000);
}

TEST(JpegWindow, EveryByteOfAHeaderMayBeWrong) {
  if (!can_decode()) GTEST_SKIP() << "needs AVX2";
  Rng rng(4, Stream::kSynthetic);
  Comparison all;
  for (const JpegKind& kind : kOurKinds) {
    const Bytes file = encode_jpeg(picture({20, 30}, 3, rng), kind);
    const auto header =
        static_cast<size_t>(std::search(file.begin(), file.end(), std::begin(kScan), std::end(kScan)) - file.begin());
    for (size_t at = 2; at < header + 14 && !HasFatalFailure(); ++at) {
      for (const int value : {0, 1, 2, 3, 4, 5, 17, 18, 34, 100, 128, 255}) {
        SCOPED_TRACE(::testing::Message() << "byte " << at << " is " << value);
        Bytes hit = file;
        hit[at] = static_cast<uint8_t>(value);
        all.add(hit, rng);
      }
    }
  }
  EXPECT_GT(all.read, 1000);
  EXPECT_GT(all.refused, 1000);
}

// All pairs of colours at all levels, as the exact products round them.
TEST(JpegWindow, ColoursAreThoseOfTheExactProducts) {
  if (!can_decode()) GTEST_SKIP() << "needs AVX2";
  constexpr size_t kWidth = 256;
  Bytes y(kWidth + kPixelsAtOnce), cb(y.size()), cr(y.size()), rgb(3 * kWidth);
  for (size_t i = 0; i < kWidth; ++i) y[i] = static_cast<uint8_t>(i);
  for (int blue = 0; blue < 256; ++blue) {
    for (int red = 0; red < 256; ++red) {
      std::fill(cb.begin(), cb.end(), static_cast<uint8_t>(blue));
      std::fill(cr.begin(), cr.end(), static_cast<uint8_t>(red));
      jpeg_loops()->rgb_row(y.data(), cb.data(), cr.data(), rgb.data(), kWidth);
      const int u = blue - 128, v = red - 128;
      const int more[3] = {(91881 * v + 32768) >> 16, (-22554 * u - 46802 * v + 32768) >> 16, (116130 * u + 32768) >> 16};
      for (int level = 0; level < 256; ++level) {
        for (int c = 0; c < 3; ++c) ASSERT_EQ(rgb[static_cast<size_t>(3 * level + c)], std::clamp(level + more[c], 0, 255));
      }
    }
  }
}

}  // namespace
}  // namespace tessera
