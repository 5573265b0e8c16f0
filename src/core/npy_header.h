#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/element_type.h"

namespace tessera {

// What the header of a NumPy .npy file says, checked against the file's size; knows nothing of libtorch.
struct NpyHeader {
  Element type;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements, of C or Fortran order
  size_t offset;                 // of the data in the file
  size_t bytes;
};

// Versions 1 to 3. Big-endian, structured and object arrays are refused. Throws Error naming `name`.
NpyHeader parse_npy_header(std::span<const uint8_t> file, const std::string& name);

bool looks_like_npy(std::span<const uint8_t> bytes);

}  // namespace tessera
