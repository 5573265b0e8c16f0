#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace tessera {

// What a result may depend on besides the config: versions, processor, cores, memory, GPUs and their driver.
nlohmann::json describe_environment();

// The version in what NVIDIA's kernel module says of itself, "none" if there is none.
std::string nvidia_driver(const std::string& says);

}  // namespace tessera
