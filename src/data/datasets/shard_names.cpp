#include "data/datasets/shard_names.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/split.h"
#include "data/datasets/folder_names.h"

namespace tessera {
namespace {

constexpr size_t kMostNames = 1'000'000;

// "000000..000012": all numbers from one to the other, as wide as the first is written.
std::vector<std::string> expand_range(std::string_view from, std::string_view to, const std::string& pattern) {
  const auto number = [&](std::string_view text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    TSR_CHECK_USAGE(error == std::errc() && end == text.data() + text.size(),
                    "{}: expected numbers in braces, as in shard-{{000000..000012}}.tar, got '{}'", pattern, text);
    return value;
  };
  const uint64_t first = number(from), last = number(to);
  TSR_CHECK_USAGE(first <= last && last - first < kMostNames, "{}: the range in braces is empty, or names more than {} files",
                  pattern, kMostNames);
  std::vector<std::string> names;
  for (uint64_t i = first; i <= last; ++i) names.push_back(fmt::format("{:0{}}", i, from.size()));
  return names;
}

std::vector<std::string> alternatives(std::string_view inner, const std::string& pattern) {
  const size_t dots = inner.find("..");
  if (dots != std::string_view::npos) return expand_range(inner.substr(0, dots), inner.substr(dots + 2), pattern);
  return split(inner, ',');
}

// "ade_train-00000-of-00008" is train's.
std::optional<Split> split_in_name(const std::string& name) {
  std::string part;
  for (const char c : fs::path(name).filename().string() + ".") {
    if (c != '-' && c != '_' && c != '.') {
      part += c;
      continue;
    }
    if (const auto found = split_named(part)) return found;
    part.clear();
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> expand_braces(const std::string& pattern) {
  std::vector<std::string> names{""};
  size_t at = 0;
  while (at < pattern.size()) {
    const size_t open = std::min(pattern.find('{', at), pattern.size());
    for (std::string& name : names) name += pattern.substr(at, open - at);
    if (open == pattern.size()) break;
    const size_t close = pattern.find('}', open);
    TSR_CHECK_USAGE(close != std::string::npos, "{}: expected a closing brace, as in shard-{{000000..000012}}.tar", pattern);
    const auto inner = alternatives(std::string_view(pattern).substr(open + 1, close - open - 1), pattern);
    TSR_CHECK_USAGE(inner.size() <= kMostNames / names.size(), "{} names more than {} files", pattern, kMostNames);
    std::vector<std::string> longer;
    for (const std::string& name : names) {
      for (const std::string& part : inner) longer.push_back(name + part);
    }
    names = std::move(longer);
    at = close + 1;
  }
  return names;
}

std::optional<ShardPattern> shard_pattern(const std::string& place, const ShardFormat& format) {
  const size_t slash = place.rfind('/');
  const std::string last = slash == std::string::npos ? place : place.substr(slash + 1);
  const bool braces = last.find('{') != std::string::npos;
  if (!braces && (!format.is_shard(last) || fs::is_directory(place))) return std::nullopt;
  const std::string root = slash == std::string::npos ? "." : slash == 0 ? "/" : place.substr(0, slash);
  return ShardPattern{root, expand_braces(last)};
}

SplitShards shards_of_split(const std::vector<std::string>& names, const ShardFormat& format, Split split) {
  std::vector<std::string> all, own;
  bool named = false;
  for (const std::string& name : names) {
    if (!format.is_shard(name)) continue;
    all.push_back(name);
    const std::optional<Split> in_name = split_in_name(name);
    named = named || in_name.has_value();
    if (in_name == split) own.push_back(name);
  }
  return {named ? std::move(own) : std::move(all), named};
}

}  // namespace tessera
