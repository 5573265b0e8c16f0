#include "data/check/fault_groups.h"

#include <cctype>
#include <sstream>
#include <unordered_map>

namespace tessera {
namespace {

// The reason without what is the sample's own: paths, its name, numbers.
std::string kind_of(const SampleFault& fault) {
  constexpr size_t kNoWord = 3;  // shorter names may be part of any word
  std::string reason = fault.reason;
  for (size_t at = 0; fault.id.size() >= kNoWord && (at = reason.find(fault.id)) != std::string::npos;)
    reason.erase(at, fault.id.size());
  std::istringstream words(reason);
  std::string kind;
  for (std::string word; words >> word;) {
    if (word.find('/') != std::string::npos) continue;
    bool in_number = false;
    for (const char c : word) {
      const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
      if (!digit) kind += c;
      if (digit && !in_number) kind += '#';
      in_number = digit;
    }
    kind += ' ';
  }
  return kind;
}

}  // namespace

std::vector<FaultGroup> group_faults(const std::vector<SampleFault>& faults) {
  std::vector<FaultGroup> groups;
  std::unordered_map<std::string, size_t> places;
  for (const SampleFault& fault : faults) {
    const std::string kind = kind_of(fault);
    const auto [place, is_new] = places.emplace(kind, groups.size());
    if (is_new) groups.push_back({{}, kind.find("label # at (y #, x #): expected") != std::string::npos});
    groups[place->second].faults.push_back(fault);
  }
  return groups;
}

}  // namespace tessera
