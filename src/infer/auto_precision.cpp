#include "infer/auto_precision.h"

#include <algorithm>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "tensor/device.h"
#include "tensor/prepare_cpu.h"

namespace tessera {
namespace {

// Reads the precision of the run that is resumed.
Precision precision_in(const fs::path& config) {
  return read_experiment(parse_config(read_text(config), config.string()), MissingSecrets::kKeep).train.precision;
}

}  // namespace

Precision fastest_precision(int gpu_major, bool cpu_has_fast_bf16) {
  constexpr int kFirstWithBf16 = 8;
  const bool fast = gpu_major > 0 ? gpu_major >= kFirstWithBf16 : cpu_has_fast_bf16;
  return fast ? Precision::kBf16 : Precision::kFp32;
}

Precision pick_precision(Precision asked, at::Device device) {
  if (asked != Precision::kAuto) return asked;
  if (!device.is_cuda()) return fastest_precision(0, has_fast_bf16(cpu_features(), onednn_bound().isa));
  const auto gpus = cuda_plugin()->gpus();
  const auto index = static_cast<size_t>(std::max<int>(0, device.index()));
  TSR_CHECK(index < gpus.size(), "expected a GPU {}, there are {}; name another with -d or train.device", index, gpus.size());
  return fastest_precision(gpus[index].major, false);
}

Precision precision_of_run(const TrainConfig& config, const fs::path& folder, bool resume, const std::string& device,
                           World& world) {
  if (config.precision != Precision::kAuto) return config.precision;
  auto own = Precision::kAuto;
  if (world.is_first()) {
    const fs::path before = folder / "config.yaml";
    std::error_code error;
    const bool goes_on = resume && fs::exists(before, error);
    own =
        pick_precision(goes_on ? precision_in(before) : Precision::kAuto, pick_device(device.empty() ? config.device : device));
    log_info("train.precision=auto: {}{}", name_of(own), goes_on ? ", as the run began" : ", the faster one here");
  }
  if (world.alone()) return own;
  const std::string chosen = world.control.gather_text(std::string(name_of(own))).front();
  for (size_t i = 0; i < EnumNames<Precision>::names.size(); ++i) {
    if (EnumNames<Precision>::names[i] == chosen) own = static_cast<Precision>(i);
  }
  return own;
}

}  // namespace tessera
