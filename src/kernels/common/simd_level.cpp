#include "kernels/common/simd_level.h"

#include <ATen/Version.h>

#include <string>

namespace tessera {

int simd_level() {
  static const int level = [] {
    const std::string capability = at::get_cpu_capability();
    return capability == "AVX512" ? 2 : capability == "AVX2" ? 1 : 0;
  }();
  return level;
}

}  // namespace tessera
