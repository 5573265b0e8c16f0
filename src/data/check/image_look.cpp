#include "data/check/image_look.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr double kLowShare = 0.005, kHighShare = 0.995;

// Fewer of images with many channels: all values looked at lie in memory together.
size_t pixels_to_look_at(size_t channels) {
  constexpr size_t kValues = 1 << 17, kFewest = 1 << 10, kMost = 1 << 15;
  return std::clamp(kValues / channels, kFewest, kMost);
}

// Pixel k of `count`, for a spread that no pattern of rows and columns keeps step with: multiples of the golden ratio.
size_t spread_pixel(size_t k, size_t count) {
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;
  const uint64_t share = (k * kGolden) >> 32;
  return static_cast<size_t>(share * count >> 32);
}

template <class T>
void look_at_pixels(const std::vector<T>& pixels, size_t channels, ImageLook& look) {
  const size_t count = pixels.size() / channels, looked_at = std::min(count, pixels_to_look_at(channels));
  bool all_same = true;
  for (size_t k = 0; k < looked_at; ++k) {
    const T* const pixel = pixels.data() + (looked_at == count ? k : spread_pixel(k, count)) * channels;
    for (size_t c = 0; c < channels; ++c) {
      look.values[c].push_back(static_cast<float>(pixel[c]));
      all_same = all_same && pixel[c] == pixel[0];
    }
  }
  if (channels == 3 && all_same) look.channels = 1;
}

// Configs show these numbers to people.
double six_digits(double value) {
  return std::stod(fmt::format("{:.6g}", value));
}

}  // namespace

std::string depth_of(const Image& image) {
  if (image.is_bytes()) return "8-bit";
  if (image.max_value == 1.0F) return "float";
  return image.max_value == 65535.0F ? "16-bit" : fmt::format("with values up to {:.0f}", image.max_value);
}

ImageLook look_at_image(const std::string& id, const Image& image) {
  ImageLook look{.id = id, .depth = depth_of(image), .max_value = image.max_value, .channels = image.channels, .values = {}};
  look.values.resize(static_cast<size_t>(image.channels));
  std::visit([&](const auto& pixels) { look_at_pixels(pixels, look.values.size(), look); }, image.pixels);
  bool first = true;
  for (const std::vector<float>& values : look.values) {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (low == values.end()) continue;
    look.lowest = first ? *low : std::min(look.lowest, *low);
    look.highest = first ? *high : std::max(look.highest, *high);
    first = false;
  }
  return look;
}

double percentile(std::vector<float> values, double share) {
  const auto place = values.begin() + static_cast<ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

ImageFacts facts_of(std::span<const ImageLook> images) {
  ImageFacts facts;
  if (images.empty()) return facts;
  const ImageLook& first = images.front();
  const auto all = [&](const auto& same) { return std::all_of(images.begin(), images.end(), same); };
  facts.depth = all([&](const ImageLook& look) { return look.depth == first.depth; }) ? first.depth : "mixed";
  // Grey pictures among colour ones are pictures of three channels.
  const auto shown = std::max_element(images.begin(), images.end(), [](const ImageLook& a, const ImageLook& b) {
                       return a.channels < b.channels;
                     })->channels;
  const bool alike = all([&](const ImageLook& look) { return look.channels == shown || (shown == 3 && look.channels == 1); });
  facts.channels = alike ? shown : 0;
  facts.some_grey = facts.channels == 3 && !all([](const ImageLook& look) { return look.channels == 3; });
  if (!all([&](const ImageLook& look) { return look.values.size() == first.values.size(); })) return facts;
  for (size_t c = 0; c < first.values.size(); ++c) {
    std::vector<float> values;
    for (const ImageLook& look : images) values.insert(values.end(), look.values[c].begin(), look.values[c].end());
    if (values.empty()) return facts;
    facts.low.push_back(six_digits(percentile(values, kLowShare)));
    facts.high.push_back(six_digits(percentile(std::move(values), kHighShare)));
  }
  return facts;
}

}  // namespace tessera
