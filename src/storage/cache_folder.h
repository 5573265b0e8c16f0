#pragma once
#include <filesystem>

namespace tessera {

// Where what was fetched is kept: $TESSERA_CACHE, else $XDG_CACHE_HOME/tessera, else ~/.cache/tessera. Throws Error if none of
// them is set.
std::filesystem::path cache_folder();

}  // namespace tessera
