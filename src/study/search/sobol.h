#pragma once
#include <cstdint>

namespace tessera {

// Dimensions for which there are direction numbers.
inline constexpr int kMaxSobolDimensions = 100;

// Coordinate `dimension` of point `index` of Sobol's sequence with the directions of Joe and Kuo (2008), in the order of the
// Gray code as SciPy has it: a number of 32 bits, to be divided by 2^32.
uint32_t sobol_bits(uint32_t index, int dimension);

// Owen's scrambling of such a number: every half of every interval, at every depth, is exchanged with the other one or not, as
// (seed, dimension) say. Points stay as evenly spread, and are no longer on the edges.
uint32_t owen_scramble(uint32_t bits, uint64_t seed, int dimension);

}  // namespace tessera
