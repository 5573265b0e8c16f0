#pragma once
#include <nlohmann/json.hpp>

#include "study/space/space.h"

namespace tessera {

// A space as a study keeps it, with everything that read_space found, and back. Throws Error for JSON that is no space.
nlohmann::json space_json(const Space& space);
Space space_from_json(const nlohmann::json& json);

}  // namespace tessera
