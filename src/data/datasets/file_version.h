#pragma once
#include <filesystem>
#include <string>

namespace tessera {

// What tells this file from another, and from itself after a change: its path, size and times. Empty where it cannot be looked
// at.
std::string file_version(const std::filesystem::path& path);

}  // namespace tessera
