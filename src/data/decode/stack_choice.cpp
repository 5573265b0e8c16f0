#include "data/decode/stack_choice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "core/error.h"
#include "core/files.h"
#include "core/plural.h"
#include "data/decode/color.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 40;

std::string channel_list(const std::vector<std::string>& names, int count) {
  if (names.empty()) return fmt::format("0 to {}", count - 1);
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) shown.push_back(fmt::format("{} {}", i, names[i]));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kNamesShown ? ", ..." : "");
}

int find_channel(const std::string& wanted, const std::vector<std::string>& names, int count) {
  const auto search = [&](auto same) {
    const auto found = std::find_if(names.begin(), names.end(), same);
    if (found == names.end()) return -1;
    TSR_CHECK(std::none_of(found + 1, names.end(), same),
              "two channels of the file are called '{}': give their numbers in data.image.channels; it has {}", wanted,
              channel_list(names, count));
    return static_cast<int>(found - names.begin());
  };
  int found = search([&](const std::string& name) { return name == wanted; });
  if (found < 0) found = search([&](const std::string& name) { return lower(name) == lower(wanted); });
  if (found >= 0) return found;
  int number = -1;
  const char* end = wanted.data() + wanted.size();
  const auto [stop, error] = std::from_chars(wanted.data(), end, number);
  TSR_CHECK(error == std::errc() && stop == end && number >= 0 && number < count,
            "data.image.channels asks for '{}': the file has {} {}: {}", wanted, count, plural(count, "channel"),
            channel_list(names, count));
  return number;
}

template <class T>
std::vector<T> picked(const std::vector<T>& pixels, size_t channels, const std::vector<int>& which) {
  std::vector<T> out;
  out.reserve(pixels.size() / channels * which.size());
  for (size_t at = 0; at < pixels.size(); at += channels) {
    for (const int channel : which) out.push_back(pixels[at + static_cast<size_t>(channel)]);
  }
  return out;
}

// Names of letters, digits and the like need no quotes in YAML or a shell; else all are given by number.
std::string paste_list(const std::vector<std::string>& names, int count) {
  const auto plain = [](const std::string& name) {
    return !name.empty() &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
  };
  std::vector<std::string> words;
  const bool by_name = static_cast<int>(names.size()) >= count && std::all_of(names.begin(), names.begin() + count, plain);
  for (int i = 0; i < count; ++i) words.push_back(by_name ? names[static_cast<size_t>(i)] : std::to_string(i));
  return fmt::format("[{}]", fmt::join(words, ","));
}

}  // namespace

StackChoice stack_choice(const ImageConfig& config) {
  return {config.channels, parse_plane_choice("data.image.z", config.z), parse_plane_choice("data.image.t", config.t)};
}

std::vector<std::string> color_names(ColorKind kind) {
  if (kind == ColorKind::kRgb) return {"red", "green", "blue"};
  if (kind == ColorKind::kRgba) return {"red", "green", "blue", "alpha"};
  return {};
}

std::vector<int> chosen_channels(const std::vector<std::string>& wanted, const std::vector<std::string>& names, int count) {
  std::vector<int> which(static_cast<size_t>(wanted.empty() ? count : 0));
  std::iota(which.begin(), which.end(), 0);
  for (const std::string& word : wanted) which.push_back(find_channel(word, names, count));
  return which;
}

std::vector<int> chosen_planes(const PlaneChoice& choice, int count, std::string_view axis) {
  if (choice.kind == PlaneChoice::Kind::kMiddle) return {count / 2};
  if (choice.kind == PlaneChoice::Kind::kOne) {
    TSR_CHECK(choice.number < count, "data.image.{} asks for plane {}: the file has {}, numbered from 0", axis, choice.number,
              count);
    return {static_cast<int>(choice.number)};
  }
  std::vector<int> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Image pick_channels(Image image, const std::vector<int>& which) {
  std::vector<int> all(static_cast<size_t>(image.channels));
  std::iota(all.begin(), all.end(), 0);
  if (which == all) return image;
  const auto channels = static_cast<size_t>(image.channels);
  std::visit([&](auto& pixels) { pixels = picked(pixels, channels, which); }, image.pixels);
  image.channels = static_cast<int>(which.size());
  return image;
}

Raster choose_channels(Raster raster, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return raster;
  if (raster.kind == ColorKind::kPalette) {
    Raster colours;
    colours.image = to_channels(std::move(raster), 3);
    colours.kind = ColorKind::kRgb;
    raster = std::move(colours);
  }
  const std::vector<int> which = chosen_channels(wanted, color_names(raster.kind), raster.image.channels);
  raster.image = pick_channels(std::move(raster.image), which);
  raster.kind = which.size() == 1 ? ColorKind::kGrey : ColorKind::kStack;
  return raster;
}

void take_larger(Image& image, const Image& other) {
  std::visit(
      [&](auto& pixels) {
        const auto& more = std::get<std::decay_t<decltype(pixels)>>(other.pixels);
        for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = std::max(pixels[i], more[i]);
      },
      image.pixels);
}

void place_channels(const Image& from, Image& to, int first) {
  std::visit(
      [&](auto& pixels) {
        const auto& values = std::get<std::decay_t<decltype(pixels)>>(from.pixels);
        const auto narrow = static_cast<size_t>(from.channels), wide = static_cast<size_t>(to.channels);
        for (size_t i = 0; i < values.size(); ++i) {
          pixels[i / narrow * wide + static_cast<size_t>(first) + i % narrow] = values[i];
        }
      },
      to.pixels);
}

Image widened(const Image& first, int times) {
  Image wide = first;
  wide.channels *= times;
  std::visit([&](auto& pixels) { pixels.assign(wide.count(), 0); }, wide.pixels);
  place_channels(first, wide, 0);
  return wide;
}

std::string contents_of(const StackShape& shape) {
  std::string text = fmt::format("{} {}", shape.channels, plural(shape.channels, "channel"));
  if (!shape.names.empty()) text += fmt::format(" ({})", fmt::join(shape.names, ", "));
  if (shape.z > 1) text += fmt::format(" x {} planes of z", shape.z);
  if (shape.t > 1) text += fmt::format(" x {} times", shape.t);
  return text;
}

std::string settings_for(const StackShape& shape, int channels) {
  std::string text;
  if (shape.z > 1) text += "data.image.z=middle ";
  if (shape.t > 1) text += "data.image.t=0 ";
  if (shape.channels != channels && shape.channels != 1) {
    // Either all of them, or as many as the network expects.
    text += fmt::format("data.channels={}", shape.channels);
    if (channels < shape.channels) text += fmt::format(" or data.image.channels={}", paste_list(shape.names, channels));
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace tessera
