#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/element_type.h"

namespace tessera {

// The table at the front of a safetensors file, checked against the file's size; knows nothing of libtorch.
struct SafetensorsHeader {
  struct Entry {
    std::string name;
    Element type;
    std::vector<int64_t> sizes;
    uint64_t offset;  // in the file
    uint64_t bytes;
  };
  std::vector<Entry> tensors;  // in the order of the header
  std::map<std::string, std::string> metadata;
};

// `bytes`: the whole file. Throws Error naming the file and the tensor.
SafetensorsHeader parse_safetensors_header(std::span<const uint8_t> bytes, const std::string& name);

// The file starts with a plausible header length and a JSON object.
bool looks_like_safetensors(std::span<const uint8_t> bytes);

}  // namespace tessera
