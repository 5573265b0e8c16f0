#include "storage/file_tree.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "core/error.h"
#include "core/files.h"
#include "storage/zip_tree.h"

namespace tessera {
namespace {

constexpr size_t kMostOpen = 16;

// Where a path leads within an archive.
struct InArchive {
  std::shared_ptr<const ZipTree> archive;
  std::string path;  // empty: the archive itself
};

// Archives that were opened, as long as they are what they were.
class OpenArchives {
 public:
  std::shared_ptr<const ZipTree> get(const fs::path& file) {
    const auto size = fs::file_size(file);
    const auto changed = fs::last_write_time(file);
    const std::lock_guard lock(mutex_);
    Opened& opened = archives_[fs::absolute(file).lexically_normal().string()];
    if (opened.archive == nullptr || opened.size != size || opened.changed != changed)
      opened = {std::make_shared<const ZipTree>(map_file(file), file.string()), size, changed, 0};
    opened.used = ++uses_;
    const std::shared_ptr<const ZipTree> archive = opened.archive;
    if (archives_.size() > kMostOpen) {
      archives_.erase(std::min_element(archives_.begin(), archives_.end(),
                                       [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    return archive;
  }

 private:
  struct Opened {
    std::shared_ptr<const ZipTree> archive;
    uintmax_t size = 0;
    fs::file_time_type changed;
    uint64_t used = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Opened> archives_;
  uint64_t uses_ = 0;
};

// The part of a path up to the archive that it leads through; empty for other paths.
fs::path archive_of(const fs::path& path) {
  fs::path file;
  for (const fs::path& part : path) {
    file /= part;
    std::error_code error;
    if (lower(part.extension().string()) == ".zip" && fs::is_regular_file(file, error)) return file;
  }
  return {};
}

std::optional<InArchive> find_archive(const fs::path& path) {
  static OpenArchives archives;
  const fs::path file = archive_of(path);
  if (file.empty()) return std::nullopt;
  std::string inner = path.lexically_normal().lexically_relative(file.lexically_normal()).generic_string();
  if (inner == ".") inner.clear();
  while (inner.ends_with('/')) inner.pop_back();
  try {
    return InArchive{archives.get(file), inner};
  } catch (const fs::filesystem_error& error) {
    fail("cannot read {}: {}", file.string(), error.code().message());
  }
}

}  // namespace

bool is_folder(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  const auto found = find_archive(path);
  return found && found->archive->has_folder(found->path);
}

bool is_plain_file(const fs::path& path) {
  if (const auto found = find_archive(path); found && !found->path.empty()) return found->archive->file(found->path) != nullptr;
  std::error_code error;
  return fs::is_regular_file(path, error);
}

bool is_archived(const fs::path& path) {
  return !archive_of(path).empty();
}

std::vector<TreeEntry> entries_in(const fs::path& folder) {
  std::map<std::string, bool> entries;
  if (const auto found = find_archive(folder)) {
    for (const std::string& path : found->archive->files_below(found->path)) {
      const size_t slash = path.find('/');
      entries.emplace(path.substr(0, slash), slash != std::string::npos);
    }
  } else {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      std::error_code ignored;
      entries.emplace(entry->path().filename().string(), entry->is_directory(ignored));
    }
  }
  std::vector<TreeEntry> list;
  for (const auto& [name, is_one] : entries) list.push_back({name, is_one});
  return list;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  const auto found = find_archive(folder);
  if (!found) return list_files(folder);
  TSR_CHECK(found->archive->has_folder(found->path), "no such folder: {}", folder.string());
  std::vector<fs::path> files;
  for (const std::string& path : found->archive->files_below(found->path)) files.push_back(folder / path);
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<uint64_t> size_of_file(const fs::path& path) {
  if (const auto found = find_archive(path); found && !found->path.empty()) {
    const ZipEntry* entry = found->archive->file(found->path);
    return entry == nullptr ? std::nullopt : std::optional(entry->size);
  }
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  return error ? std::nullopt : std::optional<uint64_t>(size);
}

Blob read_file(const fs::path& path, uint64_t most) {
  const auto found = find_archive(path);
  if (!found || found->path.empty()) return own_bytes(read_bytes(path, most));
  const ZipEntry* entry = found->archive->file(found->path);
  TSR_CHECK(entry != nullptr, "no such file: {}", path.string());
  return found->archive->read(*entry, most);
}

std::string start_of_file(const fs::path& path, size_t most) {
  std::string text(most, '\0');
  if (is_archived(path)) {
    try {
      const Blob content = read_file(path);
      return {content.bytes.begin(), content.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(most, content.size()))};
    } catch (const Error&) {
      return "";
    }
  }
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

bool same_folder(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return (a / "").lexically_normal() == (b / "").lexically_normal() || fs::equivalent(a, b, error);
}

}  // namespace tessera
