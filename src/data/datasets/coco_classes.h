#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/datasets/coco_annotations.h"

namespace tessera {

// What the categories of an instances file are called and numbered as classes.
struct CocoClassMap {
  std::vector<std::string> names;          // with "background" first, if that is a class
  std::map<int64_t, int16_t> of_category;  // category id -> class
  int16_t unpainted = 0;                   // the label where no object is: background, or ignored
};

// supercategory: COCO's twelve in the order in which they first appear by category id, whatever part of them the file
// names; supercategories of a custom file follow them, or stand alone if none of the twelve occurs. category: the file's
// categories in order of their id. binary: background and object. Categories of one name are one class, and one that is called
// background is the background, where there is one.
// Throws Error if there are no categories, a supercategory is needed and missing, or the choice leaves one class only.
CocoClassMap map_coco_classes(const CocoConfig& config, std::span<const CocoCategory> categories);

}  // namespace tessera
