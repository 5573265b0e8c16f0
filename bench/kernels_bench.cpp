// The fused loss and argmax beside the same in plain torch ops, on the CPU: milliseconds of processor time of all threads, best
// of several rounds. ninja -C build kernels_bench && OMP_NUM_THREADS=1 build/bin/kernels_bench
// `kernels_bench cuda` measures the fused classifier and loss on a GPU beside product, loss and their gradients one by one.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "kernels/loss/classifier_loss.h"
#include "kernels/loss/upsample_argmax.h"
#include "kernels/loss/upsample_loss.h"
#include "tensor/device.h"
#include "tensor/prepare_cpu.h"
#include "timing.h"

namespace {

using namespace tessera;

struct Case {
  const char* name;
  int64_t n, classes, low, size;
  at::ScalarType type;
};
const Case kCases[] = {
    {"DeepLabV3+ 150 classes", 2, 150, 128, 512, at::kFloat}, {"DeepLabV3+ 150 classes bf16", 2, 150, 128, 512, at::kBFloat16},
    {"Segmenter 150 classes", 2, 150, 32, 512, at::kFloat},   {"DeepLabV3+ 19 classes", 2, 19, 128, 512, at::kFloat},
    {"U-Net 2 classes", 8, 2, 128, 128, at::kFloat},          {"U-Net 21 classes", 2, 21, 256, 256, at::kFloat}};

constexpr int kRounds = 5;

at::Tensor plain_logits(const at::Tensor& x, const at::Tensor& labels) {
  const at::Tensor full = x.to(at::kFloat);
  return full.sizes().slice(2) == labels.sizes().slice(1) ? full
                                                          : at::upsample_bilinear2d(full, labels.sizes().slice(1), false);
}

at::Tensor plain_sums(const at::Tensor& x, const at::Tensor& labels) {
  const at::Tensor probs = plain_logits(x, labels).softmax(1);
  const at::Tensor at_label = probs.gather(1, labels.unsqueeze(1)).flatten();
  return at::stack({at::zeros({x.size(1)}).index_add(0, labels.flatten(), at_label), probs.sum({0, 2, 3})});
}

void run(const Case& c) {
  at::manual_seed(1);
  const at::Tensor logits = at::randn({c.n, c.classes, c.low, c.low}).to(c.type).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor labels = at::randint(c.classes, {c.n, c.size, c.size}, at::kLong), small = labels.to(at::kShort);
  const auto both_ways = [&](auto&& loss) {
    return best_ms(kRounds, [&] { loss(logits.detach().requires_grad_()).sum().backward(); });
  };
  const auto row = [&](const char* what, double plain, double fused) {
    fmt::print("{:28} {:14} {:9.2f} {:9.2f} {:6.1f}x\n", c.name, what, plain, fused, plain / fused);
  };
  row("cross entropy", both_ways([&](const at::Tensor& x) {
        return at::cross_entropy_loss(plain_logits(x, labels), labels, {}, at::Reduction::Sum);
      }),
      both_ways([&](const at::Tensor& x) { return upsample_cross_entropy(x, small); }));
  row("Dice sums", both_ways([&](const at::Tensor& x) { return plain_sums(x, labels); }),
      both_ways([&](const at::Tensor& x) { return upsample_softmax_sums(x, small); }));
  const c10::NoGradGuard no_grad;
  row("argmax", best_ms(kRounds, [&] { plain_logits(logits, labels).argmax(1); }),
      best_ms(kRounds, [&] { upsample_argmax(logits, c.size, c.size); }));
}

// Milliseconds of the clock, of one of many in a row.
template <class Work>
double gpu_ms(Work&& work) {
  constexpr int kWarmUps = 5, kRepeats = 30;
  const c10::impl::VirtualGuardImpl device(at::kCUDA);
  for (int i = 0; i < kWarmUps; ++i) work();
  device.synchronizeDevice(0);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; ++i) work();
  device.synchronizeDevice(0);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count() / kRepeats;
}

void run_classifier(int64_t images, int64_t classes, int64_t channels, int64_t size) {
  at::manual_seed(1);
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const at::Tensor features =
      at::randn({images, channels, size, size}, options.memory_format(at::MemoryFormat::ChannelsLast)).requires_grad_();
  const at::Tensor weight = (0.1 * at::randn({classes, channels, 1, 1}, options)).requires_grad_();
  const at::Tensor bias = at::zeros({classes}, options.dtype(at::kFloat)).requires_grad_();
  // As in pictures: neighbours mostly have one label.
  const at::Tensor labels = at::randint(classes, {images, size / 16, size / 16}, options.dtype(at::kShort))
                                .repeat_interleave(16, 1)
                                .repeat_interleave(16, 2);
  const at::Tensor scale = at::scalar_tensor(1.0 / static_cast<double>(labels.numel()), options.dtype(at::kDouble));
  const auto clear = [&] {
    for (const at::Tensor* x : {&features, &weight, &bias}) x->mutable_grad().reset();
  };
  const double plain = gpu_ms([&] {
    const at::Tensor rows = features.permute({0, 2, 3, 1}).reshape({-1, channels});
    const at::Tensor logits = at::addmm(bias.to(at::kBFloat16), rows, weight.flatten(1).t());
    (upsample_cross_entropy(logits.view({images, size, size, classes}).permute({0, 3, 1, 2}), labels) * scale).backward();
    clear();
  });
  const double fused = gpu_ms([&] {
    classifier_cross_entropy({features, weight, bias}, labels, {}, scale).backward();
    clear();
  });
  fmt::print("classifier and loss, {} x {} x {} x {} -> {} classes: {:.2f} ms one by one, {:.2f} ms fused\n", images, channels,
             size, size, classes, plain, fused);
}

}  // namespace

int main(int count, char** arguments) {
  prepare_cpu();
  if (count > 1 && std::string_view(arguments[1]) == "cuda") {
    load_cuda_plugin();
    for (const int64_t classes : {2, 19, 152, 256}) run_classifier(16, classes, 64, 512);
    return 0;
  }
  fmt::print("{} threads; loss forward and backward, processor ms\n{:43} {:>9} {:>9}\n", at::get_num_threads(), "", "plain",
             "fused");
  for (const Case& c : kCases) run(c);
}
