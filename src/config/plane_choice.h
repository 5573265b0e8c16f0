#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

// Which planes of one axis of a stack are taken.
struct PlaneChoice {
  enum class Kind { kAll, kMiddle, kMax, kOne };
  Kind kind = Kind::kAll;
  int64_t number = 0;  // kOne: counted from 0
  friend bool operator==(const PlaneChoice&, const PlaneChoice&) = default;
};

// "all", "middle", "max" or a whole number from 0. Throws UsageError that names `key`.
PlaneChoice parse_plane_choice(std::string_view key, const std::string& text);

}  // namespace tessera
