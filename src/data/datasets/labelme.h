#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"

namespace tessera {

// Note [labelme]
// The annotation tool labelme writes a.json beside a.jpg: a list of shapes, each with a label and its points. Such a file
// stands for a mask wherever one does: polygons, rectangles and circles are drawn as labelme itself makes masks of them (with
// Pillow, see drawn_shapes.h), in the order of the file, each over those before. A shape's class is its label's place in
// data.classes; pixels without a shape are of class 0, and those labelled __ignore__ are ignored. With data.labels.binary every
// label is class
// 1. Other label rules have no meaning here.

// Whether the beginning of a file is that of labelme's JSON.
bool looks_like_labelme(std::string_view start);

// The labels of a file's shapes, without __ignore__; none where it cannot be read.
std::set<std::string> labelme_names(std::span<const uint8_t> json);

// The labels of an image of this size. Throws Error saying what is wrong with the file, without its name.
LabelMap labelme_labels(std::span<const uint8_t> json, Size size, const std::vector<std::string>& classes,
                        const LabelConfig& rules);

}  // namespace tessera
