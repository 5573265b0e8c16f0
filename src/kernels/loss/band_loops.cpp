// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/loss/argmax_loops.h"
#include "kernels/loss/softmax_cells.h"
#include "kernels/loss/softmax_pixels.h"

namespace tessera::TSR_SIMD {
namespace {

// Lanes of a vector that holds the classes of one pixel: as few as hold them all, but no fewer than `kLeast`.
template <class T>
constexpr int kMost = kVectorBytes / static_cast<int>(sizeof(T));
template <class T>
constexpr int kLeast = 16 / static_cast<int>(sizeof(T));

template <class T, class Call>
TSR_INLINE auto with_lanes(int64_t classes, Call&& call) {
  constexpr int kMiddle = kMost<T> / 2 > kLeast<T> ? kMost<T> / 2 : kLeast<T>;
  if (classes <= kLeast<T>) return call(std::integral_constant<int, kLeast<T>>{});
  if (classes <= kMiddle) return call(std::integral_constant<int, kMiddle>{});
  return call(std::integral_constant<int, kMost<T>>{});
}

template <class T>
int64_t padded(int64_t classes) {
  return with_lanes<T>(classes, [&](auto lanes) { return (classes + lanes - 1) / lanes * lanes; });
}

template <class T>
int64_t scratch_size(int64_t classes, int64_t width) {
  const int64_t cells = softmax_cells_scratch(width, padded<T>(classes)), block = classes * kMost<T>;
  return cells > block ? cells : block;
}

template <SoftmaxTask kTask, class T>
void run_softmax(SoftmaxBand<T>& band) {
  const int64_t width = padded<T>(band.classes);
  if (band.pixelwise) return SoftmaxPixels<kTask, T, kMost<T>>(band, width).run();
  with_lanes<T>(band.classes, [&](auto lanes) { SoftmaxCells<kTask, T, lanes>(band, width).run(); });
}

template <class T>
void softmax(SoftmaxBand<T>& band) {
  if (band.task == SoftmaxTask::kCrossEntropy) return run_softmax<SoftmaxTask::kCrossEntropy>(band);
  if (band.task == SoftmaxTask::kSums) return run_softmax<SoftmaxTask::kSums>(band);
  run_softmax<SoftmaxTask::kSumsGradient>(band);
}

template <class T>
void argmax(ArgmaxBand<T>& band) {
  const int64_t width = padded<T>(band.classes);
  if (band.pixelwise) return ArgmaxLoops<T, kMost<T>>(band, width).over_pixels();
  with_lanes<T>(band.classes, [&](auto lanes) { ArgmaxLoops<T, lanes>(band, width).over_cells(); });
}

}  // namespace

extern const BandLoops<float> kBandLoopsFloat;
extern const BandLoops<double> kBandLoopsDouble;
constinit const BandLoops<float> kBandLoopsFloat{padded<float>, scratch_size<float>, softmax<float>, argmax<float>};
constinit const BandLoops<double> kBandLoopsDouble{padded<double>, scratch_size<double>, softmax<double>, argmax<double>};

}  // namespace tessera::TSR_SIMD
