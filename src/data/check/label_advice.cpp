#include "data/check/label_advice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "data/decode/label_rules.h"

namespace tessera {
namespace {

constexpr size_t kMostColors = 30, kMostClasses = 256;
constexpr double kRare = 0.03, kUncommon = 0.15;  // of all pixels

std::optional<int32_t> unlabelled_value(const MaskLook& masks) {
  if (masks.coloured) return std::nullopt;
  return masks.bits == 8 ? std::optional(255) : masks.bits == 16 ? std::optional(65535) : std::nullopt;
}

std::vector<int32_t> values_of(const MaskLook& masks, const std::vector<int64_t>& ignored = {}) {
  std::vector<int32_t> all;
  for (const auto& entry : masks.values) {
    if (std::find(ignored.begin(), ignored.end(), entry.first) == ignored.end()) all.push_back(entry.first);
  }
  return all;
}

// A list as a config has it; words that YAML could take for something else are in quotes.
std::string list_text(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '-' || c >= 0x80;
    });
    words.push_back(plain ? name : fmt::format("\"{}\"", name));
  }
  return fmt::format("[{}]", fmt::join(words, ","));
}

// A mask that holds every value that was found, once.
RawMask all_values(const MaskLook& masks) {
  RawMask mask;
  mask.height = 1;
  mask.width = static_cast<int>(masks.values.size());
  mask.rgb = masks.coloured;
  mask.values = values_of(masks);
  mask.bits = masks.bits;
  return mask;
}

// The rules find a class for every value, and the second of two is not lost to "not labelled" (see refuse_unmarked_objects).
bool rules_fit(const MaskLook& masks, const LabelConfig& rules, size_t num_classes) {
  if (num_classes == 0 || masks.too_many) return false;
  try {
    apply_label_rules(all_values(masks), rules, static_cast<int>(num_classes));
  } catch (const Error&) {
    return false;
  }
  const std::optional<int32_t> top = value_left_out(all_values(masks), rules, static_cast<int>(num_classes));
  const bool only_objects = top && masks.values.contains(*top) &&
                            std::all_of(masks.values.begin(), masks.values.end(),
                                        [&](const auto& entry) { return entry.first == 0 || entry.first == *top; });
  return num_classes != 2 || !only_objects;
}

class Adviser {
 public:
  Adviser(const MaskLook& masks, const DataConfig& config, bool names_given)
      : masks_(masks), config_(config), own_names_(names_given ? config.classes : std::vector<std::string>{}) {
    advice_.needed = true;
    advice_.classes = config.classes;
    advice_.labels.ignore = config.labels.ignore;
  }

  LabelAdvice advise() {
    if (masks_.coloured) {
      colours();
    } else {
      numbers();
    }
    return std::move(advice_);
  }

 private:
  // Names for that many classes: the user's, then class_2, class_3, ..; the config's own where their number is right.
  std::vector<std::string> names(size_t count) const {
    if (config_.classes.size() == count) return config_.classes;
    std::vector<std::string> all = own_names_;
    all.resize(std::min(all.size(), count));
    while (all.size() < count) all.push_back(fmt::format("class_{}", all.size()));
    return all;
  }

  void binary(const std::string& reading) {
    advice_.labels.binary = true;
    if (!config_.classes.empty() && config_.classes.size() != 2) advice_.classes = {"background", "foreground"};
    advice_.reading = reading;
  }

  void colours() {
    const std::vector<int32_t> colors = values_of(masks_, config_.labels.ignore);
    if (masks_.too_many || colors.size() > kMostColors) {
      advice_.mistake = fmt::format(
          "the masks hold {}{} colours, too many for classes; were they scaled or saved as JPEG? Make them again without "
          "smoothing, or list the class colours in data.labels.colors",
          masks_.too_many ? "more than " : "", colors.size());
      return;
    }
    if (colors.size() == 2 && colors[0] == 0) return binary("black is background, the other colour an object");
    for (const int32_t color : colors) {
      advice_.labels.colors.push_back({color >> 16, color >> 8 & 0xFF, color & 0xFF});
    }
    advice_.classes = names(colors.size());
    advice_.reading = "each colour is a class, in this order";
    if (colors.size() > 2 && colors.back() == 0xFFFFFF)
      advice_.others.emplace_back(
          "if white means \"not labelled\": take it out of data.labels.colors, and its class out of "
          "data.classes, and add 'data.labels.ignore=[0xFFFFFF]'");
  }

  void numbers() {
    std::vector<int32_t> values = values_of(masks_, config_.labels.ignore);
    const std::optional<int32_t> top = unlabelled_value(masks_);
    const bool has_top = top && !values.empty() && values.back() == *top;
    if (values.empty()) {
      advice_.mistake = "data.labels.ignore leaves out every value of the masks";
      return;
    }
    if (values.size() == 1 && values[0] == 0) {
      advice_.mistake = "the masks hold no value but 0: nothing is marked in them";
      return;
    }
    if (values.size() <= 2 && (values[0] == 0 || values.size() == 1))
      return binary(fmt::format("0 is background, {} an object", values.back()));
    if (numbers_objects(masks_)) {
      binary("0 is background; the other values number single objects, which become one class");
      if (values.back() < static_cast<int32_t>(kMostClasses))
        advice_.others.push_back(fmt::format("if the values are classes: 'data.classes={}' without data.labels.binary",
                                             list_text(names(static_cast<size_t>(values.back()) + 1))));
      return;
    }
    // Values at even distances are grey levels of classes, and the last is one like the others.
    const bool even = values.size() > 2 && values[0] == 0 && evenly_spaced(values);
    if (has_top && !even) values.pop_back();
    if (values.size() > kMostClasses) {
      advice_.mistake = fmt::format(
          "the masks hold {} different values ({}), too many for classes and not numbered like objects; data.labels.map or "
          "data.labels.binary=true can say what they mean",
          values.size(), list_values(masks_));
      return;
    }
    const bool gapless = values.back() - values.front() + 1 == static_cast<int32_t>(values.size());
    if (gapless && values.front() == 1) {
      without_zero(values.size(), "1 is the first class");
    } else if (gapless && values.front() == 0) {
      from_zero(values.size());
    } else {
      mapped(values);
    }
    if (has_top && !even) advice_.reading += fmt::format("; {} is not labelled", *top);
  }

  static bool evenly_spaced(const std::vector<int32_t>& values) {
    const double step = static_cast<double>(values.back()) / static_cast<double>(values.size() - 1);
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::abs(static_cast<double>(values[i]) - step * static_cast<double>(i)) > 1) return false;
    }
    return step >= 2;
  }

  void without_zero(size_t count, const std::string& reading) {
    advice_.labels.offset = -1;
    advice_.classes = names(count);
    advice_.reading = reading;
  }

  // 0 may be a class or "not labelled"; a share of all pixels that no background has speaks for the latter.
  void from_zero(size_t count) {
    const double share = static_cast<double>(masks_.values.at(0)) / static_cast<double>(std::max<int64_t>(1, masks_.pixels));
    if (count > 2 && share < kRare) {
      without_zero(count - 1, fmt::format("0 is not labelled ({:.1f} % of the pixels), 1 the first class", 100 * share));
      advice_.others.push_back(
          fmt::format("if 0 is a class: 'data.classes={}' without data.labels.offset", list_text(names(count))));
      return;
    }
    advice_.classes = names(count);
    advice_.reading = "the values are the classes";
    if (count > 2 && share < kUncommon)
      advice_.others.push_back(
          fmt::format("if 0 ({:.1f} % of the pixels) means \"not labelled\": data.labels.offset=-1 "
                      "'data.classes={}'",
                      100 * share, list_text(names(count - 1))));
  }

  void mapped(const std::vector<int32_t>& values) {
    for (size_t k = 0; k < values.size(); ++k) advice_.labels.map[values[k]] = static_cast<int64_t>(k);
    advice_.classes = names(values.size());
    advice_.reading = "each value is a class, in this order";
    const bool close = values.front() == 0 && values.back() < static_cast<int32_t>(2 * values.size());
    if (close)
      advice_.others.push_back(
          fmt::format("if the missing values are classes that no mask shows: 'data.classes={}' without "
                      "data.labels.map",
                      list_text(names(static_cast<size_t>(values.back()) + 1))));
  }

  const MaskLook& masks_;
  const DataConfig& config_;
  std::vector<std::string> own_names_;
  LabelAdvice advice_;
};

// Shapes say what they are: their labels are the classes, and what is not drawn is background.
LabelAdvice advise_drawn(const std::set<std::string>& drawn) {
  constexpr const char* kBackground = "background";
  LabelAdvice advice{.needed = true, .labels = {}, .classes = {kBackground}, .reading = {}, .others = {}, .mistake = {}};
  for (const std::string& name : drawn) {
    if (name != kBackground) advice.classes.push_back(name);
  }
  advice.reading = "shapes of labelme by their labels, all else is background";
  advice.others.emplace_back("any shape against the background: data.labels.binary=true 'data.classes=[]'");
  return advice;
}

bool names_all(const std::vector<std::string>& classes, const std::set<std::string>& drawn) {
  return std::all_of(drawn.begin(), drawn.end(),
                     [&](const std::string& name) { return std::find(classes.begin(), classes.end(), name) != classes.end(); });
}

}  // namespace

LabelAdvice advise_labels(const MaskLook& masks, const DataConfig& config, bool names_given) {
  const size_t num_classes = config.classes.empty() && config.labels.binary ? 2 : config.classes.size();
  LabelAdvice as_given{.labels = config.labels, .classes = config.classes, .reading = {}, .others = {}, .mistake = {}};
  if (masks.masks == 0 && !masks.drawn.empty()) {
    const bool known = names_given || config.labels.binary || names_all(config.classes, masks.drawn);
    return known ? as_given : advise_drawn(masks.drawn);
  }
  if (masks.masks == 0 || rules_fit(masks, config.labels, num_classes)) return as_given;
  // Classes that the user named are not doubted for the sake of a few masks: these are bad samples.
  if (names_given && rules_fit(usual_values(masks), config.labels, num_classes)) return as_given;
  LabelAdvice advice = Adviser(masks, config, names_given).advise();
  if (!advice.mistake.empty()) {
    advice.labels = config.labels;
    advice.classes = config.classes;
  }
  return advice;
}

std::vector<std::string> label_keys(const LabelAdvice& advice, const DataConfig& config) {
  std::vector<std::string> keys;
  const LabelConfig &to = advice.labels, &from = config.labels;
  if (to.binary != from.binary) keys.push_back(fmt::format("data.labels.binary={}", to.binary));
  if (to.offset != from.offset) keys.push_back(fmt::format("data.labels.offset={}", to.offset));
  if (to.map != from.map) {
    std::vector<std::string> entries;
    for (const auto& [value, label] : to.map) entries.push_back(fmt::format("{}: {}", value, label));
    keys.push_back(fmt::format("data.labels.map={{{}}}", fmt::join(entries, ", ")));
  }
  if (to.ignore != from.ignore) keys.push_back(fmt::format("data.labels.ignore=[{}]", fmt::join(to.ignore, ",")));
  if (to.colors != from.colors) {
    std::vector<std::string> colors;
    for (const auto& color : to.colors) colors.push_back(fmt::format("[{}]", fmt::join(color, ",")));
    keys.push_back(fmt::format("data.labels.colors=[{}]", fmt::join(colors, ",")));
  }
  if (advice.classes != config.classes) keys.push_back("data.classes=" + list_text(advice.classes));
  return keys;
}

}  // namespace tessera
