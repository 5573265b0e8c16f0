#pragma once
#include <sys/types.h>

#include <filesystem>

namespace tessera {

// Who may read what the program makes. The umask may take more away, and is never overruled.
enum class Access {
  kUmask,    // whoever the umask lets, as with any other program's files
  kGroup,    // the owner and the group
  kPrivate,  // the owner
};

constexpr mode_t folder_mode(Access access) {
  return access == Access::kUmask ? 0777 : access == Access::kGroup ? 0770 : 0700;
}
constexpr mode_t file_mode(Access access) {
  return folder_mode(access) & 0666U;
}

// What suits a folder that holds configs, be it there or made now. Private, unless somebody has arranged the place for sharing:
// the nearest folder that exists has an access control list for new files (kUmask: the list decides), or is set-group-ID and
// open to the group (kGroup), as the project folders of clusters are.
Access access_at(const std::filesystem::path& folder);

// Who may read this file; kPrivate where there is none.
Access access_like(const std::filesystem::path& file);

}  // namespace tessera
