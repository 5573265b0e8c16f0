#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// "image" for 1, "images" for any other count; of nouns that only get an s.
inline std::string plural(int64_t count, std::string_view noun) {
  return std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace tessera
