#pragma once
#include <cstdint>
#include <string_view>

namespace tessera {

// FNV-1a: a stable number for a name, on every platform and library. `hash`: of names before it.
inline uint64_t name_hash(std::string_view name, uint64_t hash = 1469598103934665603ULL) {
  for (const unsigned char c : name) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

}  // namespace tessera
