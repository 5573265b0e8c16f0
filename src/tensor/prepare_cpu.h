#pragma once
#include <string>

#include "core/cpu_features.h"

namespace tessera {

// Once at the beginning of every program that uses libtorch, before the first tensor:
// - throws Error where the processor lacks instructions that libtorch needs, which would end in a signal;
// - keeps oneDNN from AMX where it cannot be used (Note [AMX without tiles]), unless the user has set its variable;
// - takes no more threads for computing than the cgroup's quota and the process's mask grant, unless OMP_NUM_THREADS says how
// many.
void prepare_cpu();

// How oneDNN is bound here: the value of its variable, "" if it may use all there is. by_us: prepare_cpu chose it.
struct OneDnnBound {
  std::string isa;
  bool by_us = false;
};
OneDnnBound onednn_bound();

// Both in words: "AVX-512, bfloat16 imitated; ...".
std::string describe_instructions(const CpuFeatures& features, const OneDnnBound& bound);

// Whether products of bfloat16 are faster than those of float32 here. oneDNN computes them without AMX too, but no faster with
// AVX512-BF16, and with twice to twenty times the work where it has to imitate them: docs/training.md has the measurements.
bool has_fast_bf16(const CpuFeatures& features, const std::string& onednn_isa);

}  // namespace tessera
