#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace tessera {

// SHA-256 as 64 hex digits. Throws Error naming the file.
std::string sha256_of_file(const std::filesystem::path& path);
std::string sha256_of(std::string_view bytes);

}  // namespace tessera
