#pragma once
#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/image.h"

namespace tessera {

// How many classes data of this config has, as far as that is known without its files: those of COCO are the public data set's
// unless data.classes names others. Nothing where the config does not say.
std::optional<int> class_count(const DataConfig& config);

// The names of pairs' classes. Throws UsageError where the config does not say them.
std::vector<std::string> pair_class_names(const DataConfig& config);

// The classes of such data, as the data set itself would give them, where its files are not needed to know them.
std::optional<ClassTable> known_classes(const DataConfig& config);

}  // namespace tessera
