#include "data/datasets/class_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <string_view>

#include "core/error.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "data/datasets/palette.h"

namespace tessera {
namespace {

// Two classes of one name could not be told apart in any table or log.
void refuse_duplicates(const std::vector<std::string>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto before = std::find(names.begin(), name, *name);
    if (before != name)
      fail_usage("data.classes names '{}' twice, as class {} and {}: expected a different name for each class", *name,
                 before - names.begin(), name - names.begin());
  }
}

}  // namespace

std::optional<int16_t> background_class(const std::vector<std::string>& names, bool binary_masks) {
  constexpr std::array<std::string_view, 6> kNames = {"background", "bg", "void", "unlabelled", "unlabeled", "other"};
  if (names.empty()) return std::nullopt;
  if (binary_masks && names.size() == 2) return 0;
  std::string name = names[0];
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ? std::optional<int16_t>(0) : std::nullopt;
}

ClassTable make_class_table(const DataConfig& config, std::vector<std::string> names, std::vector<Color> known_palette) {
  TSR_CHECK_USAGE(config.classes.empty() || config.classes.size() == names.size(),
                  "data.classes has {} names, but this data has {} classes; give one name per class or leave data.classes out",
                  config.classes.size(), names.size());
  refuse_duplicates(config.classes);
  TSR_CHECK_USAGE(names.size() <= static_cast<size_t>(std::numeric_limits<int16_t>::max()),
                  "{} classes; at most {} are possible", names.size(), std::numeric_limits<int16_t>::max());
  ClassTable table;
  table.multi_label = config.labels.multi;
  table.names = config.classes;
  if (table.names.empty()) table.names = std::move(names);
  for (std::string& name : table.names) name = json_name(name);  // the form in which a checkpoint gives them back
  if (config.palette.empty()) {
    // Classes that overlap have no background among them.
    const bool has_background = !table.multi_label && background_class(table.names, config.labels.binary).has_value();
    table.palette = known_palette.empty() ? default_palette(table.size(), has_background) : std::move(known_palette);
    return table;
  }
  TSR_CHECK_USAGE(
      config.palette.size() == table.names.size(),
      "data.palette has {} colours, but there are {} classes; give one [r, g, b] per class or leave data.palette out",
      config.palette.size(), table.names.size());
  for (size_t k = 0; k < config.palette.size(); ++k) {
    const std::vector<int64_t>& rgb = config.palette[k];
    TSR_CHECK_USAGE(rgb.size() == 3, "data.palette: the colour of class {} has {} numbers, expected [r, g, b]", k, rgb.size());
    Color color{};
    for (size_t c = 0; c < 3; ++c) {
      TSR_CHECK_USAGE(rgb[c] >= 0 && rgb[c] <= 255, "data.palette: the colour of class {} has the value {}, expected 0 to 255",
                      k, rgb[c]);
      color[c] = static_cast<uint8_t>(rgb[c]);
    }
    table.palette.push_back(color);
  }
  return table;
}

void check_same_classes(const std::vector<std::string>& train, const std::vector<std::string>& other, std::string_view split) {
  if (train == other) return;
  const auto name = [](const std::vector<std::string>& names, size_t k) {
    return k < names.size() ? "'" + printable(names[k]) + "'" : std::string("not there");
  };
  size_t k = 0;
  while (k < std::min(train.size(), other.size()) && train[k] == other[k]) ++k;
  fail(
      "the data of train and {} have different classes ({} and {}): class {} is {} in train and {} in {}; they must be "
      "labelled alike",
      split, train.size(), other.size(), k, name(train, k), name(other, k), split);
}

}  // namespace tessera
