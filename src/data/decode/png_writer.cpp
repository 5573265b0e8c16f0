#include "data/decode/png_writer.h"

#include <spng.h>

#include <algorithm>
#include <cstdlib>
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

// `pixels`: host-order values of `depth` bits.
std::vector<uint8_t> encode(Size size, int depth, spng_color_type color, const std::vector<Color>& palette, const void* pixels,
                            size_t bytes) {
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
  check(spng_encode_image(png.get(), pixels, bytes, SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE));

  size_t length = 0;
  int code = 0;
  const std::unique_ptr<void, decltype(&std::free)> file(spng_get_png_buffer(png.get(), &length, &code), std::free);
  check(code);
  const auto* begin = static_cast<const uint8_t*>(file.get());
  return {begin, begin + length};
}

template <class T>
std::vector<T> as_values(const LabelMap& labels, int ignore) {
  std::vector<T> values(labels.labels.size());
  std::transform(labels.labels.begin(), labels.labels.end(), values.begin(),
                 [&](int16_t label) { return static_cast<T>(label == kIgnoreLabel ? ignore : label); });
  return values;
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
  const auto color = image.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  return encode(image.size(), 8, color, {}, image.bytes().data(), image.bytes().size());
}

std::vector<uint8_t> encode_png_labels(const LabelMap& labels) {
  const LabelRange range = range_of(labels);
  if (range.top > kIgnoreByte || (range.top == kIgnoreByte && range.ignored)) {
    const auto values = as_values<uint16_t>(labels, kIgnoreWord);
    return encode(labels.size(), 16, SPNG_COLOR_TYPE_GRAYSCALE, {}, values.data(), values.size() * sizeof(uint16_t));
  }
  const auto values = as_values<uint8_t>(labels, kIgnoreByte);
  return encode(labels.size(), 8, SPNG_COLOR_TYPE_GRAYSCALE, {}, values.data(), values.size());
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
  const auto values = as_values<uint8_t>(labels, kIgnoreByte);
  return encode(labels.size(), 8, SPNG_COLOR_TYPE_INDEXED, table.empty() ? std::vector<Color>{{0, 0, 0}} : table, values.data(),
                values.size());
}

}  // namespace tessera
