#include "storage/cache_folder.h"

#include <cstdlib>

#include "core/error.h"

namespace tessera {

namespace fs = std::filesystem;

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path own = variable("TESSERA_CACHE"); !own.empty()) return own;
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "tessera";
  const fs::path home = variable("HOME");
  TSR_CHECK(!home.empty(), "no place for what is downloaded: set TESSERA_CACHE to a folder");
  return home / ".cache" / "tessera";
}

}  // namespace tessera
