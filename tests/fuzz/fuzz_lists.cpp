// libFuzzer target: files that list samples. Only an Error may come out, and each position is one of the samples.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "data/datasets/sample_list.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::array<std::string, 4> kStems = {"a", "b", "folder/c", "image 1"};
  const tessera::MemoryFile file(data, size);
  try {
    for (const size_t at : tessera::listed_samples(file.path().string(), "/", kStems)) {
      if (at >= kStems.size()) std::abort();
    }
  } catch (const tessera::Error&) {
  }
  return 0;
}
