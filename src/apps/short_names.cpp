#include "apps/short_names.h"

#include <algorithm>
#include <filesystem>
#include <map>

namespace tessera {
namespace {

// The parts that a name may be made of, the last one first.
std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const auto& part : std::filesystem::absolute(path).lexically_normal()) {
    if (!part.empty() && part != "/") parts.push_back(part);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

bool is_number(const std::string& part) {
  return !part.empty() && part.find_first_not_of("0123456789-") == std::string::npos;
}

std::string joined(const std::vector<std::string>& parts, size_t count) {
  std::string name;
  for (size_t i = 0; i < std::min(count, parts.size()); ++i) name = parts[i] + (i == 0 ? "" : "/" + name);
  return name;
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& paths) {
  std::vector<std::vector<std::string>> parts;
  std::vector<size_t> counts;
  size_t longest = 0;
  for (const std::string& path : paths) {
    std::vector<std::string>& own = parts.emplace_back(parts_of(path));
    const bool is_trial = own.size() > 2 && is_number(own[0]) && own[1] == "trials";
    if (is_trial) own.erase(own.begin() + 1);
    counts.push_back(is_trial ? 2 : 1);
    longest = std::max(longest, own.size());
  }
  std::vector<std::string> names(paths.size());
  for (size_t round = 0; round <= longest; ++round) {  // one path given twice stays alike
    std::map<std::string, int> times;
    for (size_t i = 0; i < paths.size(); ++i) ++times[names[i] = joined(parts[i], counts[i])];
    for (size_t i = 0; i < paths.size(); ++i) counts[i] += times[names[i]] > 1 ? 1 : 0;
  }
  return names;
}

}  // namespace tessera
