#include "data/datasets/file_version.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace tessera {

// The time of a change of the inode is there because whoever changes a file can set the other one.
std::string file_version(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "";
  return fmt::format("{} {} {}.{} {}.{}\n", path.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                     info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
}

}  // namespace tessera
