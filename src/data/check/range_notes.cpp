#include "data/check/range_notes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "config/experiment.h"
#include "core/plural.h"
#include "core/printable.h"

namespace tessera {
namespace {

bool is_photograph(const ImageFacts& facts, int64_t channels) {
  return facts.depth == "8-bit" && (channels == 1 || channels == 3);
}

bool sets_statistics(const DataConfig& config) {
  const NormalizeConfig untouched = default_normalize(config.channels);
  return config.normalize.mean != untouched.mean || config.normalize.std != untouched.std;
}

// The images a sentence is about: how many of how many, and the first one's name.
std::string some_images(const std::vector<const ImageLook*>& found, size_t of) {
  return fmt::format("{} of {} {} looked at (first: {})", found.size(), of, plural(static_cast<int64_t>(of), "image"),
                     printable(found.front()->id));
}

double value_of(const std::vector<double>& list, size_t channel) {
  return list[list.size() == 1 ? 0 : channel];
}

struct Span {
  double low = 0, high = 0;
};

// What the network would be given of the middle 99 % of the values, over all channels.
Span network_input(const ImageFacts& facts, const NormalizeConfig& normalize, double max_value) {
  Span all;
  for (size_t c = 0; c < facts.low.size(); ++c) {
    const auto input = [&](double value) {
      return (value / max_value - value_of(normalize.mean, c)) / value_of(normalize.std, c);
    };
    all = c == 0 ? Span{input(facts.low[c]), input(facts.high[c])}
                 : Span{std::min(all.low, input(facts.low[c])), std::max(all.high, input(facts.high[c]))};
  }
  return all;
}

// Only of mode fixed: the others find the range themselves.
std::string input_note(std::span<const ImageLook> images, const ImageFacts& facts, const NormalizeConfig& normalize) {
  constexpr double kLeastSpan = 1, kFarthest = 20;  // photographs span 4.4 and reach 2.6
  if (normalize.mode != NormalizeMode::kFixed || facts.depth == "mixed" || facts.low.empty()) return "";
  if (normalize.mean.size() > facts.low.size()) return "";
  const Span input = network_input(facts, normalize, images.front().max_value);
  const bool flat = input.high - input.low<kLeastSpan, far = std::max(-input.low, input.high)> kFarthest;
  if (!flat && !far) return "";
  return fmt::format("the images are {}; with data.normalize.mode=fixed the network sees {:.3g} to {:.3g}{}. Set {}",
                     describe_images(images), input.low, input.high, far ? ", far from 0" : ", almost one value",
                     range_keys(facts));
}

}  // namespace

NormalizeConfig decided_normalize(const DataConfig& config, const ImageFacts& facts) {
  NormalizeConfig decided = config.normalize;
  if (decided.mode != NormalizeMode::kAuto) return decided;
  decided.mode = NormalizeMode::kFixed;
  const bool measured = facts.low.size() == static_cast<size_t>(config.channels) && facts.depth != "mixed";
  if (!measured || is_photograph(facts, config.channels) || sets_statistics(config)) return decided;
  // A channel of one value has no range; any will do, and 1 keeps it finite.
  decided.low_value = facts.low;
  decided.high_value = facts.high;
  for (size_t c = 0; c < facts.low.size(); ++c) {
    if (!(facts.high[c] > facts.low[c])) decided.high_value[c] = facts.low[c] + 1;
  }
  decided.mode = NormalizeMode::kRange;
  return decided;
}

std::string range_keys(const ImageFacts& facts) {
  return fmt::format("data.normalize.mode=range 'data.normalize.low_value=[{:g}]' 'data.normalize.high_value=[{:g}]'",
                     fmt::join(facts.low, ","), fmt::join(facts.high, ","));
}

std::string describe_images(std::span<const ImageLook> images) {
  if (images.empty()) return "none";
  const ImageFacts facts = facts_of(images);
  float lowest = images.front().lowest, highest = images.front().highest;
  for (const ImageLook& look : images) {
    lowest = std::min(lowest, look.lowest);
    highest = std::max(highest, look.highest);
  }
  const std::string channels = facts.channels == 1   ? "grey"
                               : facts.channels == 0 ? "of different channels"
                                                     : fmt::format("{} channels", facts.channels);
  std::string text = fmt::format("{}, {}, values {:g} to {:g}", facts.depth == "mixed" ? "of several depths" : facts.depth,
                                 channels, lowest, highest);
  if (facts.depth != "16-bit") return text;
  const int bits = std::bit_width(static_cast<unsigned>(std::max(highest, 1.0F)));
  return bits < 16 ? text + fmt::format(" ({} of 16 bits)", bits) : text;
}

std::string several_depths(std::span<const std::pair<std::string, std::string>> depths) {
  std::map<std::string, std::pair<int64_t, std::string>> kinds;
  for (const auto& [depth, id] : depths) {
    auto& [count, first] = kinds[depth];
    if (count++ == 0) first = id;
  }
  std::vector<std::string> parts;
  for (const auto& [depth, kind] : kinds) parts.push_back(fmt::format("{} {} (first: {})", kind.first, depth, kind.second));
  return kinds.size() < 2 ? "" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string contrast_note(std::span<const ImageLook> images, const NormalizeConfig& normalize) {
  return images.empty() ? "" : input_note(images, facts_of(images), normalize);
}

std::vector<std::string> range_notes(std::span<const ImageLook> images, const NormalizeConfig& normalize) {
  constexpr double kDark = 0.02;  // of the range of all
  if (images.empty()) return {};
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> depths;
  std::vector<const ImageLook*> constant, dark;
  const ImageFacts facts = facts_of(images);
  const bool comparable = facts.depth != "mixed" && !facts.low.empty();
  const double low = comparable ? *std::min_element(facts.low.begin(), facts.low.end()) : 0;
  const double high = comparable ? *std::max_element(facts.high.begin(), facts.high.end()) : 0;
  for (const ImageLook& look : images) {
    depths.emplace_back(look.depth, look.id);
    if (look.lowest == look.highest) {
      constant.push_back(&look);
    } else if (comparable && look.highest < low + kDark * (high - low)) {
      dark.push_back(&look);
    }
  }
  if (const std::string several = several_depths(depths); !several.empty())
    notes.push_back("the images have different depths: " + several + "; they cannot share a batch: convert all to one depth");
  if (const std::string note = input_note(images, facts, normalize); !note.empty()) notes.push_back(note);
  if (!constant.empty())
    notes.push_back(some_images(constant, images.size()) + " have one value everywhere; look at them, or leave them out");
  if (!dark.empty())
    notes.push_back(some_images(dark, images.size()) +
                    fmt::format(" are nearly black beside the others: no value above {:g}, "
                                "where the others reach {:g}; look at them, or leave them out",
                                low + kDark * (high - low), high));
  return notes;
}

}  // namespace tessera
