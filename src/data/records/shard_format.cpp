#include "data/records/shard_format.h"

#include <algorithm>

#include "core/files.h"

namespace tessera {

bool usable_id(const std::string& id) {
  constexpr size_t kLongestPath = 1000, kLongestName = 200;
  if (id.empty() || id.size() > kLongestPath || id.ends_with('/') || id.find('\0') != std::string::npos) return false;
  const fs::path path(id);
  return path.is_relative() && std::none_of(path.begin(), path.end(), [](const fs::path& part) {
           return part == ".." || part.native().size() > kLongestName;
         });
}

}  // namespace tessera
