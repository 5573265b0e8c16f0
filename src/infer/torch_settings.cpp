#include "infer/torch_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <cstdlib>

#include "core/cpu_budget.h"
#include "core/log.h"
#include "core/plural.h"

namespace tessera {
namespace {

// Libtorch's loops beside a GPU are short: more threads spin between them in the way of those that load and count, and sixteen
// made evaluation take 1.7 times as long.
constexpr int kThreadsBesideAGpu = 4;

}  // namespace

void use_threads(const TrainConfig& config) {
  if (config.threads == 0) return;
  const int cpus = cpu_budget().cpus();
  if (config.threads > cpus) {
    log_warn("train.threads={}, but {} can be used here: more threads than that wait for one another; 0 takes what there is",
             config.threads, fmt::format("{} {}", cpus, plural(cpus, "CPU")));
  }
  at::set_num_threads(static_cast<int>(config.threads));
}

void set_up_backend(const TrainConfig& config, at::Device device, bool fixed_shapes) {
  if (!device.is_cuda()) return;
  if (config.threads == 0 && at::get_num_threads() > kThreadsBesideAGpu) at::set_num_threads(kThreadsBesideAGpu);
  at::Context& context = at::globalContext();
  context.setAllowTF32CuDNN(config.precision != Precision::kFp64);
  context.setAllowTF32CuBLAS(config.precision == Precision::kTf32);
  context.setBenchmarkCuDNN(fixed_shapes && !config.deterministic);
  context.setDeterministicCuDNN(config.deterministic);
  if (config.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS asks for it
  // Operations without a deterministic form warn: the fused kernels take the place of those that models use.
  context.setDeterministicAlgorithms(config.deterministic, /*warn_only=*/true);
  // The mode would also fill every new tensor, a pass over memory for each; nothing here reads what it has not written.
  context.setDeterministicFillUninitializedMemory(false);
}

}  // namespace tessera
