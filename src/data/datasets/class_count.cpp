#include "data/datasets/class_count.h"

#include "core/error.h"
#include "data/datasets/ade20k_classes.h"
#include "data/datasets/class_table.h"

namespace tessera {
namespace {

int coco_count(const CocoConfig& config) {
  constexpr int kSupercategories = 12, kCategories = 80;
  const int background = config.background ? 1 : 0;
  switch (config.classes) {
    case CocoClasses::kSupercategory: return kSupercategories + background;
    case CocoClasses::kCategory: return kCategories + background;
    case CocoClasses::kBinary: break;
  }
  return 1 + background;
}

}  // namespace

std::optional<int> class_count(const DataConfig& config) {
  if (!config.classes.empty()) return static_cast<int>(config.classes.size());
  switch (config.type) {
    case SourceType::kPairs: return config.labels.binary ? std::optional(2) : std::nullopt;
    case SourceType::kAde20k: return static_cast<int>(ade20k_names().size());
    case SourceType::kCoco: return coco_count(config.coco);
    case SourceType::kSynthetic:
      return config.synthetic.kind == SyntheticKind::kCells ? 2 : static_cast<int>(config.synthetic.num_classes);
    case SourceType::kMds:
    case SourceType::kTfrecord:
    case SourceType::kTar: break;  // their card says
  }
  return std::nullopt;
}

std::vector<std::string> pair_class_names(const DataConfig& config) {
  if (!config.classes.empty()) return config.classes;
  TSR_CHECK_USAGE(
      !config.labels.multi,
      "set data.classes: with data.labels.multi they name the folders or endings of the masks, e.g. [cell, nucleus]");
  TSR_CHECK_USAGE(config.labels.binary,
                  "set data.classes: the class names in order of their label, e.g. [background, nucleus]");
  return {"background", "foreground"};
}

std::optional<ClassTable> known_classes(const DataConfig& config) {
  switch (config.type) {
    case SourceType::kPairs: return make_class_table(config, pair_class_names(config));
    case SourceType::kAde20k: return make_class_table(config, ade20k_names(), ade20k_palette());
    case SourceType::kCoco:
      return config.classes.empty() ? std::nullopt : std::optional(make_class_table(config, config.classes));
    case SourceType::kSynthetic:  // which has no files
    case SourceType::kMds:
    case SourceType::kTfrecord:
    case SourceType::kTar: break;
  }
  return std::nullopt;
}

}  // namespace tessera
