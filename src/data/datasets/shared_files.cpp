#include "data/datasets/shared_files.h"

#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/error.h"
#include "core/files.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// Names that differ for files that differ: the real path of a folder is asked for once, whatever it holds.
class RealNames {
 public:
  // Empty where the sample is in no file.
  std::string of(const fs::path& file) {
    if (file.empty()) return "";
    const auto [place, is_new] = folders_.try_emplace(file.parent_path());
    std::error_code error;
    if (is_new) place->second = fs::weakly_canonical(fs::absolute(place->first, error), error);
    return (place->second / file.filename()).string();
  }

 private:
  std::map<fs::path, fs::path> folders_;
};

// A hash of `bytes` in the middle of the file: behind the headers, which files of one camera share. Nothing where it cannot be
// read, which is for others to tell.
std::optional<uint64_t> middle_hash(const fs::path& path, uintmax_t size) {
  constexpr size_t kBytes = 4096;
  if (is_archived(path)) {
    try {
      const Blob content = read_file(path);
      const Blob middle =
          content.part(content.size() > kBytes ? (content.size() - kBytes) / 2 : 0, std::min(content.size(), kBytes));
      return XXH3_64bits(middle.bytes.data(), middle.size());
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(size > kBytes ? (size - kBytes) / 2 : 0));
  std::string bytes(std::min<uintmax_t>(size, kBytes), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) return std::nullopt;
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool same_bytes(const fs::path& a, const fs::path& b) {
  try {
    const Blob one = read_file(a), other = read_file(b);
    return std::equal(one.bytes.begin(), one.bytes.end(), other.bytes.begin(), other.bytes.end());
  } catch (const Error&) {
    return false;
  }
}

// Training files by their size, and by the middle of their bytes where that was asked for.
class Copies {
 public:
  Copies(const Dataset& train, int64_t max_files) : train_(train), files_left_(max_files) {
    for (int64_t i = 0; i < train.size(); ++i) {
      const fs::path file = train.image_file(i);
      const uintmax_t size = file.empty() ? 0 : size_of_file(file).value_or(0);
      if (size > 0) by_size_[size].push_back({i, std::nullopt});
    }
  }

  // The training sample of the same bytes.
  std::optional<int64_t> of(const fs::path& file) {
    const uintmax_t size = file.empty() ? 0 : size_of_file(file).value_or(0);
    const auto candidates = by_size_.find(size);
    if (candidates == by_size_.end() || files_left_-- <= 0) return std::nullopt;
    const std::optional<uint64_t> middle = middle_hash(file, size);
    for (Candidate& candidate : candidates->second) {
      const fs::path trained = train_.image_file(candidate.index);
      if (!candidate.middle && files_left_-- > 0) candidate.middle = middle_hash(trained, size);
      if (middle && candidate.middle == middle && same_bytes(trained, file)) return candidate.index;
    }
    return std::nullopt;
  }

 private:
  struct Candidate {
    int64_t index;
    std::optional<uint64_t> middle;
  };
  const Dataset& train_;
  std::unordered_map<uintmax_t, std::vector<Candidate>> by_size_;
  int64_t files_left_;
};

}  // namespace

std::vector<SharedFile> shared_files(const Dataset& train, const Dataset& val, int64_t max_files) {
  RealNames names;
  std::unordered_map<std::string, int64_t> trained;
  for (int64_t i = 0; i < train.size(); ++i) trained.emplace(names.of(train.image_file(i)), i);
  trained.erase("");
  Copies copies(train, max_files);
  std::vector<SharedFile> shared;
  for (int64_t i = 0; i < val.size(); ++i) {
    const fs::path file = val.image_file(i);
    if (const auto same = trained.find(names.of(file)); same != trained.end()) {
      shared.push_back({train.id(same->second), val.id(i), false});
    } else if (const auto copy = copies.of(file)) {
      shared.push_back({train.id(*copy), val.id(i), true});
    }
  }
  return shared;
}

}  // namespace tessera
