#include "data/check/image_facts.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "data/check/image_look.h"

namespace tessera {
namespace {

constexpr double kBrightShare = 0.995;

// Of bytes everything follows from how often each value occurs: exact, and fast.
void measure_bytes(const std::vector<uint8_t>& pixels, const Image& image, SampleFacts& facts, ByteHistogram& counts) {
  const auto channels = static_cast<size_t>(image.channels);
  counts.resize(channels);
  for (size_t at = 0; at < pixels.size(); at += channels) {
    for (size_t c = 0; c < channels; ++c) ++counts[c][pixels[at + c]];
  }
  const double top = image.max_value, count = static_cast<double>(pixels.size()) / static_cast<double>(channels);
  facts.constant = true;
  for (size_t c = 0; c < channels; ++c) {
    uint64_t sum = 0, squares = 0;
    int different = 0, bright = -1;
    double below = 0;
    for (uint64_t value = 0; value < 256; ++value) {
      const auto times = static_cast<uint64_t>(counts[c][value]);
      sum += value * times;
      squares += value * value * times;
      different += times > 0 ? 1 : 0;
      below += static_cast<double>(times);
      if (bright < 0 && below >= kBrightShare * count) bright = static_cast<int>(value);
    }
    facts.constant = facts.constant && different <= 1;
    facts.brightest = std::max(facts.brightest, static_cast<float>(bright));
    facts.sum.push_back(static_cast<double>(sum) / top);
    facts.sum_of_squares.push_back(static_cast<double>(squares) / (top * top));
  }
  facts.grey = channels == 3;
  for (size_t at = 0; facts.grey && at + 2 < pixels.size(); at += 3)
    facts.grey = pixels[at] == pixels[at + 1] && pixels[at] == pixels[at + 2];
}

// Whether values of 16 bits fit into 8: none above 255, or bytes repeated as 0xABAB.
bool is_shallow(const std::vector<float>& pixels) {
  constexpr int kRepeat = 257;
  bool small = true, repeated = true, zero = true;
  for (const float value : pixels) {
    const auto whole = static_cast<int>(value);
    small = small && whole <= 255;
    repeated = repeated && whole % kRepeat == 0;
    zero = zero && whole == 0;
    if (!small && !repeated) return false;
  }
  return !zero;
}

void measure_floats(const std::vector<float>& pixels, const Image& image, SampleFacts& facts) {
  const auto channels = static_cast<size_t>(image.channels);
  std::vector<double> sum(channels), squares(channels);
  facts.constant = true;
  for (size_t at = 0; at < pixels.size(); at += channels) {
    for (size_t c = 0; c < channels; ++c) {
      const double value = pixels[at + c];
      sum[c] += value;
      squares[c] += value * value;
      facts.constant = facts.constant && pixels[at + c] == pixels[c];
    }
  }
  const double top = image.max_value;
  for (size_t c = 0; c < channels; ++c) {
    facts.sum.push_back(sum[c] / top);
    facts.sum_of_squares.push_back(squares[c] / (top * top));
  }
  for (const std::vector<float>& values : look_at_image("", image).values)
    facts.brightest = std::max(facts.brightest, static_cast<float>(percentile(values, kBrightShare)));
  facts.grey = channels == 3;
  for (size_t at = 0; facts.grey && at + 2 < pixels.size(); at += 3)
    facts.grey = pixels[at] == pixels[at + 1] && pixels[at] == pixels[at + 2];
  facts.shallow = image.max_value == 65535.0F && is_shallow(pixels);
}

template <class T>
bool has_seen_through(const std::vector<T>& pixels, size_t channels, T opaque) {
  for (size_t at = channels - 1; at < pixels.size(); at += channels) {
    if (pixels[at] != opaque) return true;
  }
  return false;
}

}  // namespace

bool is_transparent(const Raster& raster) {
  if (raster.kind != ColorKind::kGreyAlpha && raster.kind != ColorKind::kRgba) return false;
  const Image& image = raster.image;
  const auto channels = static_cast<size_t>(image.channels);
  return image.is_bytes() ? has_seen_through(image.bytes(), channels, uint8_t{255})
                          : has_seen_through(image.floats(), channels, image.max_value);
}

void measure_image(const Image& image, SampleFacts& facts, ByteHistogram& histogram) {
  facts.size = image.size();
  facts.channels = image.channels;
  facts.depth = depth_of(image);
  if (image.is_bytes()) {
    measure_bytes(image.bytes(), image, facts, histogram);
  } else {
    measure_floats(image.floats(), image, facts);
  }
  std::visit(
      [&](const auto& pixels) {
        facts.hash =
            XXH3_64bits_withSeed(pixels.data(), pixels.size() * sizeof(pixels[0]), static_cast<XXH64_hash_t>(image.width));
      },
      image.pixels);
  facts.picture = hash_picture(image);
  facts.decoded = true;
}

}  // namespace tessera
