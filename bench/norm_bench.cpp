// Batch norm + residual + ReLU, fused, beside the same in torch ops, on the CPU: milliseconds of processor time of all threads,
// forward and backward, best of several rounds. ninja -C build norm_bench && OMP_NUM_THREADS=1 build/bin/norm_bench
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "kernels/norm/norm_act.h"
#include "tensor/prepare_cpu.h"
#include "timing.h"

namespace {

using namespace tessera;

struct Case {
  const char* name;
  int64_t n, channels, size;
  bool residual;
  at::ScalarType type;
  bool channels_last = true;
};
const Case kCases[] = {{"demo U-Net, height 1", 8, 12, 128, false, at::kFloat},
                       {"demo U-Net, height 2", 8, 24, 64, false, at::kFloat},
                       {"demo U-Net, bottleneck", 8, 96, 16, false, at::kFloat},
                       {"ResNet stage 1", 4, 256, 32, true, at::kFloat},
                       {"ResNet stage 1 bf16", 4, 256, 32, true, at::kBFloat16},
                       {"ResNet stage 1 contiguous", 4, 256, 32, true, at::kFloat, false},
                       {"ResNet stage 4", 4, 2048, 8, true, at::kFloat},
                       {"U-Net 64 channels", 2, 64, 256, false, at::kFloat},
                       {"U-Net 64 channels bf16", 2, 64, 256, false, at::kBFloat16}};

constexpr int kRounds = 20;

void run(const Case& c) {
  at::manual_seed(1);
  const auto map = [&] {
    return at::randn({c.n, c.channels, c.size, c.size})
        .to(c.type)
        .contiguous(c.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  };
  const at::Tensor x = map().requires_grad_(), residual = c.residual ? map().requires_grad_() : at::Tensor(), dy = map();
  const at::Tensor weight = at::ones({c.channels}).requires_grad_(), bias = at::zeros({c.channels}).requires_grad_();
  const at::Tensor mean = at::zeros({c.channels}), var = at::ones({c.channels});
  const auto both_ways = [&](auto&& norm) {
    return best_ms(kRounds, [&] {
      norm().backward(dy);
      for (at::Tensor leaf : {x, residual, weight, bias}) {
        if (leaf.defined()) leaf.mutable_grad().reset();
      }
    });
  };
  const double plain = both_ways([&] {
    at::Tensor y = at::batch_norm(x, weight, bias, mean, var, true, 0.1, 1e-5, true);
    if (c.residual) y.add_(residual);
    return y.relu_();
  });
  const double fused = both_ways([&] {
    return norm_act(x, residual, weight, bias, norm_moments(x, {c.n}, mean, var, 0.1), {.ends = {c.n}, .relu = true});
  });
  fmt::print("{:28} {:9.2f} {:9.2f} {:6.2f}x\n", c.name, plain, fused, plain / fused);
}

}  // namespace

int main() {
  prepare_cpu();
  fmt::print("{} threads; forward and backward, processor ms\n{:28} {:>9} {:>9}\n", at::get_num_threads(), "", "plain",
             "fused");
  for (const Case& c : kCases) run(c);
}
