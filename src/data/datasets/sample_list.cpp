#include "data/datasets/sample_list.h"

#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "data/datasets/pair_matching.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

std::string stem_of(const std::string& line) {
  const size_t begin = line.find_first_not_of(" \t");
  fs::path path(begin == std::string::npos ? "" : line.substr(begin));
  if (is_image_file(path)) path.replace_extension();
  return path.generic_string();
}

}  // namespace

std::vector<size_t> listed_samples(const std::string& list, const fs::path& root, std::span<const std::string> stems) {
  if (list.empty()) {
    std::vector<size_t> all(stems.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }
  const fs::path below_root = root / list;
  const fs::path file = is_plain_file(below_root) || !fs::exists(list) ? below_root : fs::path(list);

  std::unordered_map<std::string, size_t> positions;
  for (size_t i = 0; i < stems.size(); ++i) positions.emplace(stems[i], i);
  for (size_t i = 0; i < stems.size(); ++i) positions.emplace(printable(stems[i]), i);  // as `data list` prints it

  std::vector<size_t> picked;
  std::unordered_set<size_t> seen;
  const Blob text = read_file(file);
  for (const std::string& line : lines_of({text.bytes.begin(), text.bytes.end()}, file)) {
    const std::string stem = stem_of(line);
    if (stem.empty()) continue;
    const auto whole = positions.find(line);  // a name may end like a file
    const auto place = whole != positions.end() ? whole : positions.find(stem);
    TSR_CHECK(place != positions.end(), "{} names the sample '{}', but there is none among the {} found ('{}', ...){}",
              file.string(), printable(stem), stems.size(), stems.empty() ? "" : printable(stems.front()),
              did_you_mean(stem, stems));
    TSR_CHECK(seen.insert(place->second).second, "{} names the sample '{}' twice; remove one line", file.string(),
              printable(stem));
    picked.push_back(place->second);
  }
  TSR_CHECK(!picked.empty(), "{} names no samples: expected one stem per line", file.string());
  return picked;
}

}  // namespace tessera
