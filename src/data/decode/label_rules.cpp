#include "data/decode/label_rules.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "data/decode/stored_labels.h"

namespace tessera {
namespace {

int32_t pack(int64_t r, int64_t g, int64_t b) {
  return static_cast<int32_t>(r << 16 | g << 8 | b);
}

bool looks_up_colors(const LabelConfig& config) {
  return !config.binary && !config.colors.empty();
}

// Where a colour mask first shows that it is not grey in disguise.
std::optional<size_t> first_coloured(const RawMask& mask) {
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const int32_t v = mask.values[i];
    if ((v & 0xFF) != (v >> 8 & 0xFF) || (v & 0xFF) != v >> 16) return i;
  }
  return std::nullopt;
}

// Whether a palette mask is black and white, whichever index is which: writers that choose the palette themselves often put
// white first. A pixel of one colour alone says little, so then the rest of the palette must speak for it too.
bool is_black_and_white(const RawMask& mask) {
  constexpr Color kBlack{0, 0, 0}, kWhite{255, 255, 255};
  const std::vector<Color>& palette = mask.palette;
  std::vector<bool> used(palette.size());
  for (const int32_t index : mask.values) {
    if (static_cast<size_t>(index) >= used.size()) return false;
    used[index] = true;
  }
  bool black = false, white = false;
  for (size_t i = 0; i < palette.size(); ++i) {
    if (!used[i]) continue;
    black = black || palette[i] == kBlack;
    white = white || palette[i] == kWhite;
    if (palette[i] != kBlack && palette[i] != kWhite) return false;
  }
  if (black && white) return true;
  if (black) return std::find(palette.begin(), palette.end(), kWhite) != palette.end();  // not a palette of zeros
  return std::all_of(palette.begin(), palette.end(), [&](const Color& c) { return c == kBlack || c == kWhite; });
}

// What the field takes as "not labelled"; -1 in masks that are too shallow for the custom.
int32_t largest_value(const RawMask& mask) {
  if (mask.rgb || mask.bits == 8) return 255;
  return mask.bits == 16 ? 65535 : -1;
}

bool is_listed(const std::vector<int64_t>& values, int32_t value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Decides for one stored value at a time; `apply_label_rules` asks once per distinct value.
class Rules {
 public:
  Rules(const RawMask& mask, const LabelConfig& config, int num_classes)
      : mask_(mask), config_(config), num_classes_(num_classes) {
    if (looks_up_colors(config)) {
      TSR_CHECK(mask.rgb || mask.bits <= 8,
                "the mask is grey of {} bits: data.labels.colors needs colours of 8 bits; convert it, or use data.labels.map",
                mask.bits);
      for (size_t i = 0; i < config.colors.size(); ++i) {
        const std::vector<int64_t>& color = config.colors[i];
        class_of_color_.emplace(pack(color[0], color[1], color[2]), static_cast<int64_t>(i));
      }
    } else if (config.binary && !mask.palette.empty()) {
      by_color_ = is_black_and_white(mask);
    } else if (mask.rgb) {
      const std::optional<size_t> coloured = first_coloured(mask);
      packed_grey_ = !coloured;
      if (coloured && !config.binary) fail_coloured(*coloured);
    }
  }

  int16_t label(int32_t stored, size_t at) const {
    const int32_t value = packed_grey_ ? stored & 0xFF : stored;
    // Both ways to write a grey that is stored as a colour are understood: 255 and 0xFFFFFF.
    if (is_listed(config_.ignore, value) || is_listed(config_.ignore, stored)) return kIgnoreLabel;
    if (config_.binary) return in_range(is_object(value) ? 1 : 0, value, at);
    if (!config_.colors.empty()) return in_range(class_of_color(value, at), value, at);

    const bool unlabelled = value == largest_value(mask_);
    int64_t label = value;
    if (!config_.map.empty()) {
      const auto found = config_.map.find(value);
      if (found == config_.map.end() && unlabelled) return kIgnoreLabel;
      TSR_CHECK(found != config_.map.end(),
                "label {} at {} is not in data.labels.map ({} entries); add it there or to data.labels.ignore", value,
                place(at), config_.map.size());
      label = found->second;
    }
    label += config_.offset;
    if (label < 0 || (unlabelled && label >= num_classes_)) return kIgnoreLabel;
    return in_range(label, value, at);
  }

 private:
  bool is_object(int32_t value) const { return by_color_ ? mask_.palette[value][0] != 0 : value != 0; }

  std::string place(size_t at) const {
    const auto width = static_cast<size_t>(mask_.width);
    return fmt::format("(y {}, x {})", at / width, at % width);
  }

  int64_t class_of_color(int32_t value, size_t at) const {
    const auto index = static_cast<size_t>(value);
    int32_t color = value;
    if (!mask_.rgb && index < mask_.palette.size()) {
      color = pack(mask_.palette[index][0], mask_.palette[index][1], mask_.palette[index][2]);
    } else if (!mask_.rgb) {
      color = pack(value, value, value);
    }
    const auto found = class_of_color_.find(color);
    TSR_CHECK(found != class_of_color_.end(),
              "colour [{}, {}, {}] at {} is not one of the {} in data.labels.colors; add it, or put {} into data.labels.ignore",
              color >> 16, color >> 8 & 0xFF, color & 0xFF, place(at), config_.colors.size(),
              mask_.rgb ? fmt::format("{:#08x}", value) : std::to_string(value));
    return found->second;
  }

  int16_t in_range(int64_t label, int32_t value, size_t at) const {
    if (label >= 0 && label < num_classes_) return static_cast<int16_t>(label);
    const std::string after = config_.offset != 0 ? fmt::format(" after offset {}", config_.offset) : "";
    fail("label {} at {}: expected 0..{} ({} classes){}; set data.labels.map/ignore or data.classes", value, place(at),
         num_classes_ - 1, num_classes_, after);
  }

  [[noreturn]] void fail_coloured(size_t at) const {
    const int32_t v = mask_.values[at];
    fail(
        "the mask is coloured ([{}, {}, {}] at {}): expected grey or palette values; list the class colours in "
        "data.labels.colors",
        v >> 16, v >> 8 & 0xFF, v & 0xFF, place(at));
  }

  const RawMask& mask_;
  const LabelConfig& config_;
  int num_classes_;
  bool packed_grey_ = false;
  bool by_color_ = false;  // a palette of black and white under `binary`
  std::unordered_map<int32_t, int64_t> class_of_color_;
};

}  // namespace

void check_label_rules(const LabelConfig& config, int num_classes) {
  for (size_t i = 0; i < config.colors.size(); ++i) {
    const size_t numbers = config.colors[i].size();
    if (numbers != 3) fail_usage("data.labels.colors[{}] has {} numbers: expected [r, g, b]", i, numbers);
  }
  if (looks_up_colors(config) && config.colors.size() > static_cast<size_t>(num_classes)) {
    fail_usage("data.labels.colors has {} entries and data.classes {}: expected at most one colour per class; name every class",
               config.colors.size(), num_classes);
  }
}

std::optional<int32_t> value_left_out(const RawMask& mask, const LabelConfig& config, int num_classes) {
  const int32_t value = largest_value(mask);
  if (value < 0 || config.binary || !config.colors.empty() || is_listed(config.ignore, value)) return std::nullopt;
  if (mask.rgb && is_listed(config.ignore, pack(value, value, value))) return std::nullopt;
  int64_t label = value;
  if (!config.map.empty()) {
    const auto found = config.map.find(value);
    if (found == config.map.end()) return value;
    label = found->second;
  }
  return label + config.offset >= num_classes ? std::optional(value) : std::nullopt;
}

LabelMap apply_label_rules(const RawMask& mask, const LabelConfig& config, int num_classes) {
  check_label_rules(config, num_classes);
  const Rules rules(mask, config, num_classes);
  LabelMap out(mask.height, mask.width);
  // Masks have few distinct values: each is decided once. Neighbours are mostly equal, which skips even the lookup.
  std::unordered_map<int32_t, int16_t> decided;
  std::optional<int32_t> last;
  int16_t label = kIgnoreLabel;
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const int32_t value = mask.values[i];
    if (value != last) {
      const auto found = decided.find(value);
      label = found != decided.end() ? found->second : decided.emplace(value, rules.label(value, i)).first->second;
      last = value;
    }
    out.labels[i] = label;
  }
  return out;
}

std::array<int16_t, 256> classes_of_values(const RawMask& mask, std::span<const uint8_t> values, const LabelConfig& config,
                                           int num_classes) {
  check_label_rules(config, num_classes);
  const Rules rules(mask, config, num_classes);
  std::array<int16_t, 256> classes{};
  std::array<bool, 256> decided{};
  for (size_t i = 0; i < values.size(); i += run_length(values.data() + i, values.size() - i)) {
    const uint8_t value = values[i];
    if (std::exchange(decided[value], true)) continue;
    classes[value] = rules.label(value, i);
  }
  return classes;
}

}  // namespace tessera
