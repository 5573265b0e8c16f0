#include "core/access.h"

#include <sys/stat.h>
#include <sys/xattr.h>

namespace tessera {

namespace fs = std::filesystem;

Access access_at(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder, error).lexically_normal();
  struct stat info {};
  while (::stat(at.c_str(), &info) != 0) {
    if (at == at.parent_path()) return Access::kPrivate;
    at = at.parent_path();
  }
  if (::getxattr(at.c_str(), "system.posix_acl_default", nullptr, 0) > 0) return Access::kUmask;
  constexpr mode_t kSharedByGroup = S_ISGID | S_IRGRP | S_IXGRP;
  return (info.st_mode & kSharedByGroup) == kSharedByGroup ? Access::kGroup : Access::kPrivate;
}

Access access_like(const fs::path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0 || (info.st_mode & (S_IRGRP | S_IROTH)) == 0) return Access::kPrivate;
  return (info.st_mode & S_IROTH) != 0 ? Access::kUmask : Access::kGroup;
}

}  // namespace tessera
