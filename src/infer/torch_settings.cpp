#include "infer/torch_settings.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "core/cpu_budget.h"
#include "core/log.h"
#include "core/plural.h"

namespace tessera {
namespace {

// Libtorch's loops beside a GPU are short: more threads spin between them in the way of those that load and count, and sixteen
// made evaluation take 1.7 times as long.
constexpr int kThreadsBesideAGpu = 4;

// What set_up_backend changes of the process.
struct TorchFlags {
  bool tf32_cudnn, tf32_cublas, benchmark, deterministic_cudnn, deterministic, warn_only, fill;

  static TorchFlags now() {
    const at::Context& context = at::globalContext();
    return {context.allowTF32CuDNN(),
            context.allowTF32CuBLAS(),
            context.benchmarkCuDNN(),
            context.deterministicCuDNN(),
            context.deterministicAlgorithms(),
            context.deterministicAlgorithmsWarnOnly(),
            context.deterministicFillUninitializedMemory()};
  }
  static TorchFlags wanted(const TrainConfig& config, bool fixed_shapes) {
    return {.tf32_cudnn = config.precision != Precision::kFp64,
            .tf32_cublas = config.precision == Precision::kTf32,
            .benchmark = fixed_shapes && !config.deterministic,
            .deterministic_cudnn = config.deterministic,
            .deterministic = config.deterministic,
            // Operations without a deterministic form warn: the fused kernels take the place of those that models use.
            .warn_only = true,
            // It would fill every new tensor, a pass over memory for each; nothing here reads what it has not written.
            .fill = false};
  }
  void set() const {
    at::Context& context = at::globalContext();
    context.setAllowTF32CuDNN(tf32_cudnn);
    context.setAllowTF32CuBLAS(tf32_cublas);
    context.setBenchmarkCuDNN(benchmark);
    context.setDeterministicCuDNN(deterministic_cudnn);
    context.setDeterministicAlgorithms(deterministic, warn_only);
    context.setDeterministicFillUninitializedMemory(fill);
  }
};

// The scopes of this process that are alive and on a GPU, oldest first, and the flags as they were before the first one. Ranks
// that are threads end in any order, so each puts back what the newest of the others wants.
struct LiveScopes {
  struct Scope {
    const TorchSettings* owner;
    TorchFlags flags;
  };
  std::mutex mutex;
  std::vector<Scope> scopes;
  TorchFlags before{};

  void enter(const TorchSettings* owner, const TorchFlags& flags) {
    const std::lock_guard lock(mutex);
    if (scopes.empty()) before = TorchFlags::now();
    scopes.push_back({owner, flags});
    flags.set();
  }
  void leave(const TorchSettings* owner) {
    const std::lock_guard lock(mutex);
    if (std::erase_if(scopes, [&](const Scope& scope) { return scope.owner == owner; }) == 0) return;
    (scopes.empty() ? before : scopes.back().flags).set();
  }
};

LiveScopes& live_scopes() {
  static LiveScopes all;
  return all;
}

void take_threads(const TrainConfig& config) {
  if (config.threads == 0) return;
  const int cpus = cpu_budget().cpus();
  if (config.threads > cpus) {
    log_warn("train.threads={}, but {} can be used here: more threads than that wait for one another; 0 takes what there is",
             config.threads, fmt::format("{} {}", cpus, plural(cpus, "CPU")));
  }
  at::set_num_threads(static_cast<int>(config.threads));
}

}  // namespace

TorchSettings::TorchSettings(const TrainConfig& config, at::Device device) : threads_before_(at::get_num_threads()) {
  take_threads(config);
  if (!device.is_cuda()) return;
  live_scopes().enter(this, TorchFlags::wanted(config, /*fixed_shapes=*/true));
  set_up_backend(config, device, /*fixed_shapes=*/true);
}

TorchSettings::~TorchSettings() {
  live_scopes().leave(this);
  if (at::get_num_threads() != threads_before_) at::set_num_threads(threads_before_);
}

void set_up_backend(const TrainConfig& config, at::Device device, bool fixed_shapes) {
  if (!device.is_cuda()) return;
  if (config.threads == 0 && at::get_num_threads() > kThreadsBesideAGpu) at::set_num_threads(kThreadsBesideAGpu);
  if (config.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS asks for it
  TorchFlags::wanted(config, fixed_shapes).set();
}

}  // namespace tessera
