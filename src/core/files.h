#pragma once
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/access.h"

namespace tessera {

namespace fs = std::filesystem;

// Whole file as bytes. Throws Error with the path and the system's reason. Devices, pipes and sockets are refused: they may
// have no end, or nobody who writes.
std::vector<uint8_t> read_bytes(const fs::path& path, uint64_t most = std::numeric_limits<uint64_t>::max());
std::string read_text(const fs::path& path);
// A file or what comes through a pipe, as of a shell's <(command): up to 16 MiB, and no byte later than 30 s after the last.
std::string read_text_or_pipe(const fs::path& path);
std::vector<std::string> read_lines(const fs::path& path);  // without line ends, empty lines and '#' comments
std::vector<std::string> lines_of(const std::string& text, const fs::path& path);  // the same of the text of a file

// Writes under a temporary name in the same folder, flushes to the disk, renames: readers see the old file or the new one,
// never a part (Note [Files in the making]). A link stays and what it leads to is written, as `cp` does, but for other users'
// links in shared folders: see follow_links. Devices and pipes are written to. The permissions of a file that is replaced stay.
// Throws Error
// ("No space left on device", ...) and leaves the old file as it was.
void write_file(const fs::path& path, std::string_view content, Access access = Access::kUmask);
void write_file(const fs::path& path, std::span<const uint8_t> content, Access access = Access::kUmask);

bool is_stream(const fs::path& path);  // a device, pipe or socket

// Flushes a file's or folder's data and name to the disk.
void sync_path(const fs::path& path);

// Regular files below `folder`, sorted by path, symbolic links followed, loops survived. Hidden files and folders (a name
// that starts with '.') are left out: macOS puts a ._x.jpg, which is no picture, beside each x.jpg. Throws if it is no folder.
std::vector<fs::path> list_files(const fs::path& folder);

// Makes `folder`, and those above it that are missing as the umask says. Throws Error with the path and the system's reason.
void make_folders(const fs::path& folder, Access access = Access::kUmask);

// "" if a file can be made in `folder` (created if absent), else the reason.
std::string why_not_writable(const fs::path& folder, Access access = Access::kUmask);

std::string lower(std::string_view text);

}  // namespace tessera
