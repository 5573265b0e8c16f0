#include "data/records/shard_format.h"

#include <algorithm>

#include "core/files.h"
#include "core/printable.h"

namespace tessera {

bool usable_id(const std::string& id) {
  constexpr size_t kLongest = 200;
  if (id.empty() || id.size() > kLongest || id.ends_with('/') || printable(id) != id) return false;
  const fs::path path(id);
  return path.is_relative() && std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace tessera
