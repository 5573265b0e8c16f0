#include "core/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tessera {
namespace {

constexpr bool bit(uint32_t value, int number) {
  return (value >> number & 1U) != 0;
}

// Bits of XCR0.
constexpr uint64_t kAvxRegisters = 0x6, kAvx512Registers = 0xe0, kTileRegisters = 0x60000;

constexpr bool keeps(uint64_t kept, uint64_t registers) {
  return (kept & registers) == registers;
}

}  // namespace

CpuFeatures cpu_features(const Cpuid& cpuid, uint64_t kept) {
  constexpr uint32_t kTiles = 0x1d;
  CpuFeatures found;
  const uint32_t max_leaf = cpuid(0, 0).eax;
  const CpuidRegisters basic = cpuid(1, 0);
  found.sse4_1 = bit(basic.ecx, 19);
  if (max_leaf < 7) return found;
  const CpuidRegisters extended = cpuid(7, 0), more = extended.eax >= 1 ? cpuid(7, 1) : CpuidRegisters{};
  const bool fma = bit(basic.ecx, 12);
  found.avx2 = bit(extended.ebx, 5) && fma && keeps(kept, kAvxRegisters);
  const bool sets = bit(extended.ebx, 16) && bit(extended.ebx, 17) && bit(extended.ebx, 30) && bit(extended.ebx, 31);
  found.avx512 = found.avx2 && sets && keeps(kept, kAvx512Registers);
  found.avx512_bf16 = found.avx512 && bit(more.eax, 5);
  const bool products = bit(extended.edx, 22), tiles = bit(extended.edx, 24), byte_products = bit(extended.edx, 25);
  found.amx_announced = products || tiles || byte_products;
  if (max_leaf >= kTiles) {
    const CpuidRegisters palette = cpuid(kTiles, 1);
    found.amx_described = palette.eax != 0 && palette.ebx != 0;
  }
  found.amx_bf16 = products && tiles && found.amx_described && keeps(kept, kTileRegisters);
  return found;
}

CpuFeatures cpu_features() {
#if defined(__x86_64__)
  const Cpuid cpuid = [](uint32_t leaf, uint32_t subleaf) {
    CpuidRegisters r;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
  };
  uint32_t low = 0, high = 0;
  constexpr int kXgetbv = 27;  // the system lets processes ask
  if (bit(cpuid(1, 0).ecx, kXgetbv)) __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return cpu_features(cpuid, uint64_t{high} << 32 | low);
#else
  return {};
#endif
}

std::string onednn_limit(const CpuFeatures& features) {
  // The highest name below AMX. oneDNN takes it as a bound and looks itself at which sets under it are there.
  return features.amx_announced && !features.amx_described ? "AVX512_CORE_FP16" : "";
}

std::string missing_instructions([[maybe_unused]] const CpuFeatures& features) {
#if defined(__x86_64__)
  if (!features.sse4_1) return "SSE4.1";  // of oneDNN, inside libtorch
#endif
  return "";
}

}  // namespace tessera
