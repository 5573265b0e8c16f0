#include "config/plane_choice.h"

#include <charconv>

#include "core/error.h"

namespace tessera {

PlaneChoice parse_plane_choice(std::string_view key, const std::string& text) {
  if (text == "all") return {};
  if (text == "middle") return {PlaneChoice::Kind::kMiddle};
  if (text == "max") return {PlaneChoice::Kind::kMax};
  PlaneChoice one{PlaneChoice::Kind::kOne};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, one.number);
  TSR_CHECK_USAGE(error == std::errc() && stop == end && one.number >= 0,
                  "{} is '{}': expected all, middle, max or a number from 0", key, text);
  return one;
}

}  // namespace tessera
