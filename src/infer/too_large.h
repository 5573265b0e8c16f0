#pragma once
#include <exception>
#include <string>

namespace tessera {

// Why less work at a time (fewer samples, a smaller image) may do what this error says could not be done; empty: it would not.
std::string why_too_large(const std::exception& error);

// Gives the memory that libtorch keeps for later back to the system and to the GPU's driver.
void release_kept_memory();

}  // namespace tessera
