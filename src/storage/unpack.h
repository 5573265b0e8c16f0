#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace tessera {

struct UnpackOptions {
  std::string strip;                    // "a/b": only what is below it is taken, and names go without it
  uint64_t max_bytes = UINT64_MAX;      // more than that is refused, as soon as it is known
  std::function<void(uint64_t)> taken;  // called with the bytes of the archive that are behind us
};

struct Unpacked {
  int64_t files = 0;
  uint64_t bytes = 0;
};

// Unpacks a .zip, .tar or .tar.gz (told by its first bytes) into `folder`, which is new and empty, and flushes it to the disk.
// Nothing leads out of the folder: names with "..", absolute ones, links and devices are refused, and so are two entries of one
// name. ZIP entries are compared to their checksums; an archive that is cut, damaged or unpacks to a hundred times its size is
// refused. What was written so far stays where it throws Error.
Unpacked unpack_archive(const std::filesystem::path& archive, const std::filesystem::path& folder,
                        const UnpackOptions& options);

// The bytes that its files will have; 0 where only unpacking would tell. Throws Error.
uint64_t unpacked_bytes(const std::filesystem::path& archive);

}  // namespace tessera
