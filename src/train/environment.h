#pragma once
#include <nlohmann/json.hpp>

namespace tessera {

// What a result may depend on besides the config: versions, processor, cores, memory, GPUs.
nlohmann::json describe_environment();

}  // namespace tessera
