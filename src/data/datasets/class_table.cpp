#include "data/datasets/class_table.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/json_text.h"
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

// The first colour is for a background, which classes that overlap have none of.
std::vector<Color> default_colors(const ClassTable& table) {
  if (!table.multi_label) return default_palette(table.size());
  std::vector<Color> colors = default_palette(table.size() + 1);
  colors.erase(colors.begin());
  return colors;
}

}  // namespace

ClassTable make_class_table(const DataConfig& config, std::vector<std::string> names, std::vector<Color> known_palette) {
  TSR_CHECK_USAGE(config.classes.empty() || config.classes.size() == names.size(),
                  "data.classes has {} names, but this data has {} classes; give one name per class or leave data.classes out",
                  config.classes.size(), names.size());
  refuse_duplicates(config.classes);
  TSR_CHECK_USAGE(names.size() <= static_cast<size_t>(std::numeric_limits<int16_t>::max()),
                  "{} classes; at most {} are possible", names.size(), std::numeric_limits<int16_t>::max());
  ClassTable table;
  table.multi_label = config.labels.multi;
  table.names = config.classes.empty() ? std::move(names) : config.classes;
  for (std::string& name : table.names) name = json_name(name);  // the form in which a checkpoint gives them back
  if (config.palette.empty()) {
    table.palette = known_palette.empty() ? default_colors(table) : std::move(known_palette);
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

}  // namespace tessera
