// Resizing, pooling and concatenating features beside libtorch's operations, on the CPU, forward and backward: milliseconds of
// processor time of all threads, best of several rounds. ninja -C build features_bench && OMP_NUM_THREADS=1
// build/bin/features_bench
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <functional>

#include "kernels/features/adaptive_pools.h"
#include "kernels/features/max_pool.h"
#include "kernels/features/resize_bilinear.h"
#include "tensor/prepare_cpu.h"
#include "timing.h"

namespace {

using namespace tessera;
using Tensors = std::vector<at::Tensor>;

constexpr int kRounds = 7;

at::Tensor features(int64_t n, int64_t channels, int64_t size, at::ScalarType type) {
  return at::randn({n, channels, size, size}).to(type).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
}

// Forward, then backward with gradients of the results' layout.
void compare(const std::string& name, const Tensors& inputs, const std::function<Tensors(const Tensors&)>& torchs,
             const std::function<Tensors(const Tensors&)>& ours) {
  const auto measure = [&](const std::function<Tensors(const Tensors&)>& function) {
    Tensors grad_outputs, results = function(inputs);
    for (const at::Tensor& result : results) grad_outputs.push_back(at::ones_like(result));
    const double forward = best_ms(kRounds, [&] { function(inputs); });
    const double both = best_ms(kRounds, [&] {
      const Tensors fresh = function(inputs);
      for (size_t i = 0; i < fresh.size(); ++i) fresh[i].backward(grad_outputs[i], /*retain_graph=*/true);
      for (const at::Tensor& input : inputs) input.mutable_grad() = at::Tensor();
    });
    return std::pair{forward, both};
  };
  const auto [plain, plain_both] = measure(torchs);
  const auto [fused, fused_both] = measure(ours);
  fmt::print("{:44} {:9.2f} {:9.2f} {:6.2f}x {:9.2f} {:9.2f} {:6.2f}x\n", name, plain, fused, plain / fused, plain_both,
             fused_both, plain_both / fused_both);
}

void resize_cases(at::ScalarType type, const char* suffix) {
  struct Case {
    const char* name;
    int64_t n, channels, low, high;
  };
  for (const Case& c : {Case{"resize 32 -> 128, 256 channels", 2, 256, 32, 128},
                        {"resize 64 -> 128, 64 channels", 2, 64, 64, 128},
                        {"resize 1 -> 64, 512 channels", 2, 512, 1, 64},
                        {"resize 6 -> 64, 512 channels", 2, 512, 6, 64},
                        {"resize 96 -> 40, 64 channels", 2, 64, 96, 40},
                        {"resize 32 -> 128, 4 channels", 4, 4, 32, 128}}) {
    compare(
        std::string(c.name) + suffix, {features(c.n, c.channels, c.low, type)},
        [&](const Tensors& x) {
          return Tensors{at::upsample_bilinear2d(x[0], {c.high, c.high}, false)};
        },
        [&](const Tensors& x) {
          return Tensors{resize_bilinear(x[0], {c.high, c.high}, false)};
        });
  }
  compare(
      std::string("concat 32 -> 128 and 128, 256 + 48") + suffix, {features(2, 256, 32, type), features(2, 48, 128, type)},
      [](const Tensors& x) {
        return Tensors{at::cat({at::upsample_bilinear2d(x[0], {128, 128}, false), x[1]}, 1)};
      },
      [](const Tensors& x) {
        return Tensors{resize_concat(x, {128, 128}, false)};
      });
}

void pool_cases(at::ScalarType type, const char* suffix) {
  for (const std::vector<int64_t>& bins : {std::vector<int64_t>{1, 2, 3, 6}, {1}, {6}}) {
    compare(
        fmt::format("averages of 64 to {} grid(s) of up to {}, 512{}", bins.size(), bins.back(), suffix),
        {features(2, 512, 64, type)},
        [&](const Tensors& x) {
          Tensors all;
          for (const int64_t b : bins) all.push_back(at::adaptive_avg_pool2d(x[0], {b, b}));
          return all;
        },
        [&](const Tensors& x) { return adaptive_pools(x[0], bins); });
  }
  for (const PoolWindow& w : {PoolWindow{3, 2, 1}, {2, 2, 0}}) {
    for (const int64_t channels : {16, 64}) {
      compare(
          fmt::format("maxima of {} by {}, 128, {} channels{}", w.kernel, w.stride, channels, suffix),
          {features(2, channels, 128, type)},
          [&](const Tensors& x) { return Tensors{at::max_pool2d(x[0], w.kernel, w.stride, w.padding)}; },
          [&](const Tensors& x) { return Tensors{max_pool(x[0], w)}; });
    }
  }
}

}  // namespace

int main() {
  prepare_cpu();
  fmt::print("{} threads; processor ms\n{:44} {:^27} {:^27}\n{:44} {:>9} {:>9} {:7} {:>9} {:>9}\n", at::get_num_threads(), "",
             "forward", "forward and backward", "", "torch", "ours", "", "torch", "ours");
  resize_cases(at::kFloat, "");
  resize_cases(at::kBFloat16, ", bf16");
  pool_cases(at::kFloat, "");
  pool_cases(at::kBFloat16, ", bf16");
}
