#pragma once
#include <string>
#include <vector>

#include "core/embedded.h"

namespace tessera {

// The configs that the program carries: configs/ of the source tree as it was built, so that recipes are there wherever the
// program is. They are called by their path without ".yaml": "pairs/unet", "base/models/unet_small". In the order of names.
EmbeddedFiles builtin_configs();

// Said before a name where a file of that name must not be meant: "builtin:demo". Also where values of them say that they came
// from.
inline constexpr const char* kBuiltinPrefix = "builtin:";

// The config that `given` names: by its name, as configs/NAME.yaml (which it is in the source tree), or by the last part of the
// name where no other one to train with ends so: "unet". Null where there is none; throws UsageError where there are several.
const EmbeddedFile* find_builtin_config(const std::string& given);

// Those to train with, which are all but the parts in base/, recipes/ (config/recipe.h), studies and suites.
std::vector<const EmbeddedFile*> builtin_trainings();

// What may be written for one of builtin_trainings(): the names, then those last parts that are enough.
std::vector<std::string> builtin_config_words();

// The first line of the comment that a config begins with; "" where there is none.
std::string summary_of(const EmbeddedFile& config);

}  // namespace tessera
