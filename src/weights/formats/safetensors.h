#pragma once
#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Tensors of a safetensors file, in file order, on the CPU, plus its free-text metadata.
struct SafetensorsFile {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;
  const at::Tensor* find(const std::string& name) const;
};

// Parses bytes already in memory, checking every length, offset and type against what is there; `name` is for messages. Tensors
// are copies, the bytes may go. Throws Error.
SafetensorsFile parse_safetensors(const std::vector<uint8_t>& bytes, const std::string& name);

// The file's content. Tensors are stored contiguous, little-endian, 8-byte aligned.
std::vector<uint8_t> encode_safetensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata = {});

}  // namespace tessera
