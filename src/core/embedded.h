#pragma once
#include <span>
#include <string_view>

namespace tessera {

// A file that was made part of the program when it was built: tessera_embed in cmake/Embed.cmake.
struct EmbeddedFile {
  std::string_view name, content;
};

using EmbeddedFiles = std::span<const EmbeddedFile>;

// Null where there is none of that name.
inline const EmbeddedFile* find_embedded(EmbeddedFiles files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace tessera
