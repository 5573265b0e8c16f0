#pragma once
#include <string>

#include "study/space/parameter.h"

namespace tessera {

// A parameter's range as Optuna writes it beside each value: {"name": "FloatDistribution", "attributes": {...}}. What Optuna
// has no word for (normal numbers, conditions) is not in it.
std::string distribution_json(const Parameter& parameter);
// The parameter of such a text. Names from before Optuna 3 are not among them: its upgrade of a file rewrites those. Throws
// Error.
Parameter parameter_of(const std::string& name, const std::string& distribution);

}  // namespace tessera
