#pragma once
#include <c10/core/Device.h>

#include <filesystem>
#include <string>

#include "config/train_config.h"
#include "dist/world.h"

namespace tessera {

// Note [Automatic precision]
// bf16 is faster on GPUs since 2020 (compute capability 8) and on CPUs with AMX; elsewhere it is imitated and slower than fp32.
// So the machine decides what train.precision=auto stands for; but only once. The first rank decides for all of them when a run
// begins, config.yaml says what it was, and a run that is resumed keeps it wherever it goes on.

// What auto stands for; gpu_major: compute capability, 0 for a CPU.
Precision fastest_precision(int gpu_major, bool cpu_has_fast_bf16);

// What auto stands for on this device; any other precision as it is.
Precision pick_precision(Precision asked, at::Device device);

// The same for a run in `folder`. A collective: all ranks call it, and the first one's answer counts. device: of this rank;
// empty: train.device.
Precision precision_of_run(const TrainConfig& config, const std::filesystem::path& folder, bool resume,
                           const std::string& device, World& world);

}  // namespace tessera
