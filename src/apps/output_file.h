#pragma once
#include <filesystem>

namespace tessera {

// For a command that writes one file at its end: makes the file's folder and throws Error if the file could not be written,
// before hours of work depend on it. The file itself is not touched.
void check_output_file(const std::filesystem::path& file);

}  // namespace tessera
