#include "data/simd/pixel_loops.h"

#include "core/cpu_features.h"

namespace tessera {

namespace baseline {
extern const PixelLoops kPixelLoops;
}
#ifdef __x86_64__
namespace avx2 {
extern const PixelLoops kPixelLoops;
}
namespace avx512 {
extern const PixelLoops kPixelLoops;
}
#endif

const PixelLoops& pixel_loops() {
#ifdef __x86_64__
  static const PixelLoops& chosen = []() -> const PixelLoops& {
    const CpuFeatures features = cpu_features();
    return features.avx512 ? avx512::kPixelLoops : features.avx2 ? avx2::kPixelLoops : baseline::kPixelLoops;
  }();
  return chosen;
#else
  return baseline::kPixelLoops;
#endif
}

}  // namespace tessera
