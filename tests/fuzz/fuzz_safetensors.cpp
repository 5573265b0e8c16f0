// libFuzzer target: safetensors headers and NumPy headers. Only an Error may come out, and what is returned lies in the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "core/npy_header.h"
#include "weights/formats/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> file(data, size);
  try {
    for (const auto& entry : tessera::parse_safetensors_header(file, "fuzz").tensors) {
      if (entry.offset > size || entry.bytes > size - entry.offset) std::abort();
    }
  } catch (const tessera::Error&) {
  }
  try {
    const auto header = tessera::parse_npy_header(file, "fuzz");
    if (header.offset > size || header.bytes > size - header.offset) std::abort();
  } catch (const tessera::Error&) {
  }
  return 0;
}
