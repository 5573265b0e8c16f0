#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace tessera {

struct CpuidRegisters {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// The CPUID instruction: registers of (leaf, sub-leaf).
using Cpuid = std::function<CpuidRegisters(uint32_t leaf, uint32_t subleaf)>;

// Of the processor's instruction sets, what libtorch and oneDNN choose their code by.
struct CpuFeatures {
  bool sse4_1 = false;
  bool avx2 = false;         // with FMA, as libtorch asks
  bool avx512 = false;       // F, BW, VL and DQ
  bool avx512_bf16 = false;  // products of bfloat16 in vectors
  bool amx_announced = false;
  bool amx_described = false;  // the leaf that says how large a tile is
  bool amx_bf16 = false;       // products of tiles of bfloat16 that can be used
};

// A function of what the instructions answer, so that machines we do not have can be tested. kept: XCR0, the registers that
// the system keeps for a process.
CpuFeatures cpu_features(const Cpuid& cpuid, uint64_t kept);

// Of the machine we run on; not x86: nothing.
CpuFeatures cpu_features();

// Note [AMX without tiles]
// Some virtual machines pass on the bits that announce AMX and hide leaf 0x1D, which describes the tiles. oneDNN believes the
// bits, reads tiles of no size and configures none: the first product of bfloat16 is an illegal instruction, in PyTorch as
// well. The environment can tell oneDNN to stay below AMX; it looks at its first use.
//
// The value of ONEDNN_MAX_CPU_ISA that this processor needs, empty if none.
std::string onednn_limit(const CpuFeatures& features);

// What libtorch needs and this processor lacks, empty if nothing.
std::string missing_instructions(const CpuFeatures& features);

}  // namespace tessera
