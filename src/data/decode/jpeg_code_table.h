#pragma once
#include <cstdint>
#include <span>

#include "data/simd/jpeg_loops.h"

namespace tessera {

// What the codes stand for: differences of DC values, or coefficients and the zeros before them.
enum class CodeKind { kDc, kAc };

// counts: [1, 16] of the codes of each length; symbols: theirs, in the order of the codes. False where no JPEG has such codes.
bool make_code_table(std::span<const uint8_t, 17> counts, std::span<const uint8_t, 256> symbols, CodeKind kind,
                     CodeTable& table);

}  // namespace tessera
