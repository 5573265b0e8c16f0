#pragma once
// For sources that are compiled once per instruction set: what they define lies in a namespace of that set and is inlined, so
// that the linker cannot put one set's copy of a function in the place of another's.
#ifndef TSR_SIMD
#define TSR_SIMD baseline
#endif
#define TSR_INLINE inline __attribute__((always_inline))
