#include "tensor/prepare_cpu.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cstdlib>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

constexpr const char* kVariable = "ONEDNN_MAX_CPU_ISA";
bool chosen_by_us = false;

// The second name is the older one.
const char* users_bound() {
  for (const char* name : {kVariable, "DNNL_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

}  // namespace

void prepare_cpu() {
  const CpuFeatures features = cpu_features();
  const std::string missing = missing_instructions(features);
  TSR_CHECK(missing.empty(),
            "libtorch needs a processor with {}, and this one (or what the virtual machine shows of it) has none; use a newer "
            "machine, or give the virtual machine its host's processor (qemu: -cpu host)",
            missing);
  if (const std::string limit = onednn_limit(features); !limit.empty() && users_bound() == nullptr) {
    ::setenv(kVariable, limit.c_str(), /*overwrite=*/1);
    chosen_by_us = true;
  }
  const char* asked = std::getenv("OMP_NUM_THREADS");
  if (asked != nullptr && *asked != '\0') return;
  // Left alone where nothing bounds it: libtorch knows cores from the threads of a core.
  if (const int cpus = cpu_budget().cpus(); at::get_num_threads() > cpus) at::set_num_threads(cpus);
}

OneDnnBound onednn_bound() {
  const char* value = users_bound();
  return {value == nullptr ? "" : value, chosen_by_us};
}

std::string describe_instructions(const CpuFeatures& features, const OneDnnBound& bound) {
  std::string text = features.avx512   ? "AVX-512"
                     : features.avx2   ? "AVX2"
                     : features.sse4_1 ? "SSE4.1, which is slow"
                                       : "unknown";
  if (features.amx_bf16) text += ", AMX";
  if (features.avx512_bf16) text += ", bfloat16 in vectors";
  if (features.amx_announced && !features.amx_described) text += "; AMX is announced but its tiles are hidden";
  if (!bound.isa.empty())
    text +=
        fmt::format("; oneDNN uses at most {} ({} by {})", bound.isa, kVariable, bound.by_us ? "tessera" : "your environment");
  text += has_fast_bf16(features, bound.isa) ? "; bf16 is faster than fp32" : "; bf16 is no faster than fp32";
  return text;
}

bool has_fast_bf16(const CpuFeatures& features, const std::string& onednn_isa) {
  const std::string isa = lower(onednn_isa);
  const bool amx_allowed = isa.empty() || isa == "all" || isa == "default" || isa.find("amx") != std::string::npos;
  return features.amx_bf16 && amx_allowed;
}

}  // namespace tessera
