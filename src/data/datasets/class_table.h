#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"

namespace tessera {

// `names` as the config wants them shown: data.classes renames them, data.palette recolours them (both must then have one
// entry per class). `known_palette` may be empty: the fixed default palette.
// Class 0 without known colours is black where it is a background: see background_class.
ClassTable make_class_table(const DataConfig& config, std::vector<std::string> names, std::vector<Color> known_palette = {});

// The class that is no object and is not outlined: class 0 where it is called background, bg, void, unlabelled or other (in any
// case of letters), or where masks are binary and there are two classes. None where class 0 is a class like the others, such as
// sky.
std::optional<int16_t> background_class(const std::vector<std::string>& names, bool binary_masks);

// Throws Error, naming the first class that differs, unless both splits have the same classes in the same order.
void check_same_classes(const std::vector<std::string>& train, const std::vector<std::string>& other, std::string_view split);

}  // namespace tessera
