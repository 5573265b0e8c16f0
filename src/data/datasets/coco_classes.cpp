#include "data/datasets/coco_classes.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, 12> kSupercategories = {"person",    "vehicle",    "outdoor",   "animal",
                                                               "accessory", "sports",     "kitchen",   "food",
                                                               "furniture", "electronic", "appliance", "indoor"};

std::vector<std::string> supercategory_names(std::span<const CocoCategory> categories) {
  std::vector<std::string> names(kSupercategories.begin(), kSupercategories.end());
  size_t known = 0;
  for (const CocoCategory& category : categories) {
    TSR_CHECK(!category.supercategory.empty(), "category '{}' has no supercategory; set data.coco.classes=category",
              category.name);
    if (std::find(kSupercategories.begin(), kSupercategories.end(), category.supercategory) != kSupercategories.end()) {
      ++known;
    } else if (std::find(names.begin(), names.end(), category.supercategory) == names.end()) {
      names.push_back(category.supercategory);
    }
  }
  if (known == 0) names.erase(names.begin(), names.begin() + kSupercategories.size());
  return names;
}

// The name an annotation of `category` goes by.
std::string class_name(CocoClasses classes, const CocoCategory& category) {
  switch (classes) {
    case CocoClasses::kSupercategory: return category.supercategory;
    case CocoClasses::kCategory: return category.name;
    case CocoClasses::kBinary: break;
  }
  return "object";
}

std::vector<std::string> object_names(CocoClasses classes, std::span<const CocoCategory> categories) {
  if (classes == CocoClasses::kSupercategory) return supercategory_names(categories);
  if (classes == CocoClasses::kBinary) return {"object"};
  std::vector<std::string> names;
  for (const CocoCategory& category : categories) {
    if (std::find(names.begin(), names.end(), category.name) == names.end()) names.push_back(category.name);
  }
  return names;
}

constexpr std::string_view kBackground = "background";

}  // namespace

CocoClassMap map_coco_classes(const CocoConfig& config, std::span<const CocoCategory> categories) {
  TSR_CHECK(!categories.empty(), "the instances file has no categories, so there are no classes to learn");
  CocoClassMap map;
  map.names = object_names(config.classes, categories);
  // Two classes of that name could not be told apart in a result.
  if (config.background) std::erase(map.names, kBackground);
  TSR_CHECK(!map.names.empty(), "the instances file has no category but background, so there is nothing to learn");
  TSR_CHECK_USAGE(config.background || map.names.size() > 1,
                  "data.coco.background=false leaves the one class '{}'; set data.coco.background=true", map.names.front());
  const int first = config.background ? 1 : 0;
  for (const CocoCategory& category : categories) {
    const std::string name = class_name(config.classes, category);
    const bool unpainted = config.background && (name == kBackground || category.name == kBackground);
    const auto place = std::find(map.names.begin(), map.names.end(), name);
    map.of_category[category.id] = unpainted ? int16_t{0} : static_cast<int16_t>(place - map.names.begin() + first);
  }
  if (config.background) map.names.insert(map.names.begin(), std::string(kBackground));
  map.unpainted = config.background ? int16_t{0} : kIgnoreLabel;
  return map;
}

}  // namespace tessera
