#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// The candidate nearest to `name` by edit distance, or "" when none is near enough to be a likely slip.
std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

// ", did you mean 'x'?" or "".
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace tessera
