#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "storage/blob.h"

namespace tessera {

// Note [Archives as folders]
// A path may lead through a ZIP archive as if it were a folder: "ADEChallengeData2016.zip/images/training/a.jpg". The functions
// here see folders and archives alike, so data sets are read from an archive without unpacking it. What is in an archive of
// which everything lies in one folder is found with that folder's name and without: archives often have one folder more than
// was thought. Archives are kept open, and opened again when they change. Hidden files and macOS's __MACOSX are not there. An
// archive inside of an archive is a file. Every function may be called from many threads; those that throw, throw Error.

// Whether there is a folder; an archive is one.
bool is_folder(const std::filesystem::path& path);

bool is_plain_file(const std::filesystem::path& path);

// Whether the path leads into an archive, or to one.
bool is_archived(const std::filesystem::path& path);

struct TreeEntry {
  std::string name;
  bool folder = false;
};

// What lies in a folder, sorted by name; nothing where it cannot be read.
std::vector<TreeEntry> entries_in(const std::filesystem::path& folder);

// All files below a folder, sorted by path, as list_files does it.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder);

// Nothing where there is no such file.
std::optional<uint64_t> size_of_file(const std::filesystem::path& path);

// The whole file; what comes from an archive has the checksum that this says. A file of more than `most` bytes is refused.
Blob read_file(const std::filesystem::path& path, uint64_t most = std::numeric_limits<uint64_t>::max());

// The first `most` bytes of a file, or all of it; "" where it cannot be read.
std::string start_of_file(const std::filesystem::path& path, size_t most);

// Whether two folders are one, links followed.
bool same_folder(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace tessera
