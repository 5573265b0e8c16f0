#include "data/simd/jpeg_loops.h"

#include "core/cpu_features.h"

namespace tessera {

#ifdef __x86_64__
namespace avx2 {
extern const JpegLoops kJpegLoops;
}
namespace avx512 {
extern const JpegLoops kJpegLoops;
}
#endif

const JpegLoops* jpeg_loops() {
#ifdef __x86_64__
  static const JpegLoops* const chosen = []() -> const JpegLoops* {
    const CpuFeatures features = cpu_features();
    return features.avx512 ? &avx512::kJpegLoops : features.avx2 ? &avx2::kJpegLoops : nullptr;
  }();
  return chosen;
#else
  return nullptr;
#endif
}

}  // namespace tessera
