#pragma once
#include <exception>
#include <string>

namespace tessera {

// Why a retry with less work at a time (fewer samples, a smaller image) may succeed; "" if the error is not about size.
std::string why_too_large(const std::exception& error);

// Gives the memory that libtorch keeps for later back to the system and to the GPU's driver.
void release_kept_memory();

// Returns make(), tried again with the memory that libtorch kept where there was too little: for memory that is not libtorch's,
// whose own requests take from what it keeps.
template <class Make>
auto make_with_kept_memory(const Make& make) {
  try {
    return make();
  } catch (const std::exception& e) {
    if (why_too_large(e).empty()) throw;
  }
  release_kept_memory();
  return make();
}

}  // namespace tessera
