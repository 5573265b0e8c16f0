#pragma once
#include <exception>
#include <string>

namespace tessera {

// Why a retry with less work at a time (fewer samples, a smaller image) may succeed; "" if the error is not about size.
std::string why_too_large(const std::exception& error);

// Gives the memory that libtorch keeps for later back to the system and to the GPU's driver.
void release_kept_memory();

}  // namespace tessera
