#include "data/decode/png_writer.h"

#include <spng.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/error.h"

namespace tessera {
namespace {

constexpr int kIgnoreByte = 255;
constexpr int kIgnoreWord = 65535;
// Label maps are flat and shrink well at any level; 6 is zlib's own choice.
constexpr int kCompressionLevel = 6;

void check(int code) {
  TSR_CHECK(code == 0, "PNG cannot be written: {}", spng_strerror(code));
}

// Row by row, so that beside the file nothing of the picture is in memory. make_row: fills the host-order values of `depth`
// bits of row y.
std::vector<uint8_t> encode(Size size, int depth, spng_color_type color, const std::vector<Color>& palette,
                            const std::function<void(int y, uint8_t* row)>& make_row) {
  const std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)> png(spng_ctx_new(SPNG_CTX_ENCODER), spng_ctx_free);
  TSR_CHECK(png != nullptr, "PNG cannot be written: out of memory");
  check(spng_set_option(png.get(), SPNG_ENCODE_TO_BUFFER, 1));
  check(spng_set_option(png.get(), SPNG_IMG_COMPRESSION_LEVEL, kCompressionLevel));
  spng_ihdr header{};
  header.width = static_cast<uint32_t>(size.width);
  header.height = static_cast<uint32_t>(size.height);
  header.bit_depth = static_cast<uint8_t>(depth);
  header.color_type = static_cast<uint8_t>(color);
  check(spng_set_ihdr(png.get(), &header));
  if (!palette.empty()) {
    spng_plte table{};
    table.n_entries = static_cast<uint32_t>(palette.size());
    for (size_t i = 0; i < palette.size(); ++i) table.entries[i] = {palette[i][0], palette[i][1], palette[i][2], 255};
    check(spng_set_plte(png.get(), &table));
  }
  check(spng_encode_image(png.get(), nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE));
  const size_t values = color == SPNG_COLOR_TYPE_TRUECOLOR ? 3 : 1;
  std::vector<uint8_t> row(static_cast<size_t>(size.width) * values * static_cast<size_t>(depth) / 8);
  for (int y = 0; y < size.height; ++y) {
    make_row(y, row.data());
    const int code = spng_encode_row(png.get(), row.data(), row.size());
    if (code != SPNG_EOI) check(code);  // what the last row is answered with
  }

  size_t length = 0;
  int code = 0;
  const std::unique_ptr<void, decltype(&std::free)> file(spng_get_png_buffer(png.get(), &length, &code), std::free);
  check(code);
  const auto* begin = static_cast<const uint8_t*>(file.get());
  return {begin, begin + length};
}

// Rows of labels as values of this type.
template <class T>
auto rows_of(const LabelMap& labels, int ignore) {
  return [&labels, ignore](int y, uint8_t* row) {
    for (int x = 0; x < labels.width; ++x) {
      const int16_t label = labels.at(y, x);
      const auto value = static_cast<T>(label == kIgnoreLabel ? ignore : label);
      std::memcpy(row + static_cast<size_t>(x) * sizeof(T), &value, sizeof(T));
    }
  };
}

// The largest label, or -1 when all are ignored; and whether any is.
struct LabelRange {
  int top = kIgnoreLabel;
  bool ignored = false;
};

LabelRange range_of(const LabelMap& labels) {
  TSR_CHECK(!labels.labels.empty(), "PNG cannot be written: the label map is empty");
  const auto [low, top] = std::minmax_element(labels.labels.begin(), labels.labels.end());
  TSR_CHECK(*low >= kIgnoreLabel, "PNG cannot be written: label {} is neither a class nor ignore ({})", *low, kIgnoreLabel);
  return {*top, *low == kIgnoreLabel};
}

}  // namespace

std::vector<uint8_t> encode_png(const Image& image) {
  TSR_CHECK(image.is_bytes() && (image.channels == 1 || image.channels == 3) && image.count() > 0,
            "PNG cannot be written: expected 8-bit grey or RGB pixels, got {} channels of {}, {} x {}", image.channels,
            image.is_bytes() ? "bytes" : "floats", image.width, image.height);
  const size_t stride = static_cast<size_t>(image.width) * static_cast<size_t>(image.channels);
  return encode_png_rows(image.size(), image.channels, [&](int y, uint8_t* row) {
    std::copy_n(image.bytes().begin() + static_cast<int64_t>(static_cast<size_t>(y) * stride), stride, row);
  });
}

std::vector<uint8_t> encode_png_rows(Size size, int channels, const std::function<void(int y, uint8_t* row)>& make_row) {
  return encode(size, 8, channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR, {}, make_row);
}

std::vector<uint8_t> encode_png_labels(const LabelMap& labels) {
  const LabelRange range = range_of(labels);
  if (range.top > kIgnoreByte || (range.top == kIgnoreByte && range.ignored))
    return encode(labels.size(), 16, SPNG_COLOR_TYPE_GRAYSCALE, {}, rows_of<uint16_t>(labels, kIgnoreWord));
  return encode(labels.size(), 8, SPNG_COLOR_TYPE_GRAYSCALE, {}, rows_of<uint8_t>(labels, kIgnoreByte));
}

std::vector<uint8_t> encode_png_palette(const LabelMap& labels, const std::vector<Color>& palette) {
  const LabelRange range = range_of(labels);
  const auto colours = static_cast<int>(palette.size());
  TSR_CHECK(range.top < colours, "PNG cannot be written: label {} has no colour, the palette has {}", range.top, colours);
  const int limit = range.ignored ? 255 : 256;
  TSR_CHECK(colours <= limit, "PNG cannot be written: expected at most {} classes, got {}; write grey labels instead", limit,
            colours);
  std::vector<Color> table = palette;
  // A fixed place for ignore, so that files of one data set agree; entries between are never used.
  if (range.ignored) table.resize(256, Color{0, 0, 0});
  return encode(labels.size(), 8, SPNG_COLOR_TYPE_INDEXED, table.empty() ? std::vector<Color>{{0, 0, 0}} : table,
                rows_of<uint8_t>(labels, kIgnoreByte));
}

}  // namespace tessera
