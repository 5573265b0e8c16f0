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
  // Its SHA-256: all 64 digits where they are known, else the first eight, which torch's and timm's file names carry
  // ("resnet101-cd907fc2.pth"); "" where the makers publish none.
  std::string_view sha256() const;
};

// zoo_table.cpp
std::span<const ZooEntry> zoo();
std::span<const std::string_view> whole_sums();  // of some of them, in any order

// Null if there is none of this name.
const ZooEntry* find_in_zoo(std::string_view name);

}  // namespace tessera
