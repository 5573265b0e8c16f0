#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"

namespace tessera {

// `names` as the config wants them shown: data.classes renames them, data.palette recolours them (both must then have one
// entry per class). `known_palette` may be empty: the fixed default palette.
ClassTable make_class_table(const DataConfig& config, std::vector<std::string> names, std::vector<Color> known_palette = {});

}  // namespace tessera
