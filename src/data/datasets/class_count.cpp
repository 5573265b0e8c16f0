#include "data/datasets/class_count.h"

#include "data/datasets/ade20k_classes.h"

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
  }
  return std::nullopt;
}

}  // namespace tessera
