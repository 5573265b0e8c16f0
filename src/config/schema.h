#pragma once
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Note [One schema]
// A config struct is a plain struct with defaults, and one function template
//
//   template <class V> void describe(V& v, ResizeConfig& c) {
//     v.field("size", c.size, "target size", at_least(1));
//     v.group("window", c.window, "sliding window");
//     v.aliases("size", OlderKeys{});  // fields of another struct that stand for `size`; who reads the config translates them
//   }
//
// names every field with its help line and its check. Visitors do the rest: ConfigReader parses and validates, ConfigWriter
// makes the lines that configs, `--help`, completion and docs/config.md are printed from. There is no second list of keys
// anywhere.
//
// Field types: bool, int64_t, uint64_t (seeds), double, std::string, Size, Duration, enums with EnumNames, std::vector and
// std::optional of these, std::vector of tagged unions (transforms, loss terms), ClassWeights, std::map<std::string, ...>.

// The allowed range of a number (of each number of a list).
struct Check {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
};
constexpr Check any() {
  return {};
}
constexpr Check at_least(double low) {
  return {low, std::numeric_limits<double>::infinity(), false};
}
constexpr Check positive() {
  return {0.0, std::numeric_limits<double>::infinity(), true};
}
constexpr Check between(double low, double high) {
  return {low, high, false};
}

// Threads beyond this only wait for one another, and a typing error could bring the machine down.
inline constexpr double kMaxThreads = 1024;

// The spelling of an enum's values in configs: specialise with `static constexpr std::array<std::string_view, N> names`,
// in the order of the enumerators.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires {
  EnumNames<E>::names;
};

template <NamedEnum E>
constexpr std::string_view name_of(E value) {
  return EnumNames<E>::names[static_cast<size_t>(value)];
}

}  // namespace tessera
