#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tessera {

// Public weights that can be asked for by name.
struct ZooEntry {
  std::string_view name;    // "resnet50.imagenet1k_v2"
  std::string_view base;    // the URL is base + file
  std::string_view file;    // may have folders; the last part is its name in the cache
  std::string_view origin;  // the library whose table has it, and its name there
  std::string_view fits;    // settings of a model that takes them, separated by spaces

  std::string url() const { return std::string(base) + std::string(file); }
  // The first digits of its SHA-256, which torch's and timm's file names carry ("resnet50-11ad3fa6.pth"); "" where the
  // makers publish none.
  std::string_view sha256() const;
};

// zoo_table.cpp
std::span<const ZooEntry> zoo();

// Null if there is none of this name.
const ZooEntry* find_in_zoo(std::string_view name);

}  // namespace tessera
