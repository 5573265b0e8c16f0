#pragma once
#include <optional>

#include "config/data_config.h"

namespace tessera {

// How many classes data of this config has, as far as that is known without its files: those of COCO are the public data set's
// unless data.classes names others. Nothing where the config does not say.
std::optional<int> class_count(const DataConfig& config);

}  // namespace tessera
