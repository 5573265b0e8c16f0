#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace tessera {

// The positions in `stems` that the list file names, in its order: one stem per line, an image extension allowed; empty
// lines and lines that start with '#' are skipped. A relative `list` is looked for below `root`, then in the working folder.
// Throws Error, with the nearest name, for a stem that is not there, and for one named twice.
std::vector<size_t> read_sample_list(const std::string& list, const fs::path& root, std::span<const std::string> stems);

}  // namespace tessera
