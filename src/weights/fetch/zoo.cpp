#include "weights/fetch/zoo.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr size_t kFewestDigits = 8;

}  // namespace

std::string_view ZooEntry::sha256() const {
  const size_t dash = file.rfind('-'), dot = file.rfind('.');
  if (dash == std::string_view::npos || dot == std::string_view::npos || dot < dash + 1 + kFewestDigits) return {};
  const std::string_view digits = file.substr(dash + 1, dot - dash - 1);
  if (digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
  const auto sums = whole_sums();
  const auto whole = std::find_if(sums.begin(), sums.end(), [&](std::string_view sum) { return sum.starts_with(digits); });
  return whole == sums.end() ? digits : *whole;
}

const ZooEntry* find_in_zoo(std::string_view name) {
  const auto all = zoo();
  const auto found = std::find_if(all.begin(), all.end(), [&](const ZooEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace tessera
