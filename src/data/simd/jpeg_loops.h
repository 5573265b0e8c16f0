#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

// Inner loops of sequential JPEGs, compiled for AVX2 and for AVX-512 (CMakeLists.txt). What they give is what libjpeg-turbo's
// decoder with its JDCT_ISLOW and "fancy" upsampling gives, bit for bit.

namespace tessera {

inline constexpr int kBlockValues = 64;

// Note [Two symbols a look-up]
// A Huffman code of JPEG says how many zeros come before a coefficient and how many bits its value has, which follow. Photos
// spend some six bits on a coefficient, codes and values together; so a table over the next kTableBits bits tells the first
// code and, where it lies within them with all of its value, the coefficient behind it too. Only longer codes are searched for.
inline constexpr int kTableBits = 10;

struct CodeEntry {
  uint8_t bits = 0;         // of all that it tells, codes and values; 0: a longer code, or none
  uint8_t code_bits = 0;    // of the first code
  uint8_t value_shift = 0;  // 63 less the bits of the first value
  std::array<uint8_t, 2>
      step{};         // how far each coefficient lies behind the one before, kEndOfBlock: none follows, 0: no second
  int8_t second = 0;  // the second value
  int16_t least = 0;  // of the first value's bits
};
inline constexpr uint8_t kEndOfBlock = 128;
// Of the values of pixels of 8 bits.
inline constexpr int kMostDcBits = 11, kMostAcBits = 10;

struct CodeTable {
  std::array<CodeEntry, size_t{1} << kTableBits> entries;
  // Codes of a length, followed by zeros to 16 bits, lie below `end`, as all shorter ones do; symbol `first_symbol` + code is
  // theirs.
  std::array<uint32_t, 17> end;
  std::array<int, 17> first_symbol;
  std::array<uint8_t, 256> symbols;
};

// Where a scan is read: bytes without stuffing, behind which lie kBytesBehind zeros.
struct ScanPlace {
  const uint8_t* next;  // the first byte of which no bit is in `bits`
  const uint8_t* end;
  uint64_t bits = 0;  // the next ones, from the highest on
  int count = 0;      // of those that are valid
};
// A block takes at most 64 symbols of 16 + 11 bits.
inline constexpr size_t kBytesBehind = 320;

struct ScanComponent {
  const CodeTable* dc;
  const CodeTable* ac;
  int columns, rows;  // blocks of an MCU
  int last_dc = 0;
  std::array<int16_t*, 2> blocks{};  // where those of each row go
};

struct JpegLoops {
  // Reads `count` MCUs of all components and keeps their coefficients, or leaves them out. False: that is no undamaged JPEG.
  bool (*read_mcus)(ScanPlace& place, ScanComponent* components, int num_components, int count);
  bool (*skip_mcus)(ScanPlace& place, ScanComponent* components, int num_components, int count);

  // The pixels of `count` blocks that lie beside one another; up to kBlocksAtOnce - 1 further ones are read and written. False
  // where coefficients are beyond all that an encoder makes of pixels.
  bool (*make_pixels)(const int16_t* blocks, const uint16_t* quantizers, int count, uint8_t* to, size_t stride);

  // Twice as many values, each between its two nearest; in the second case between those of two rows. A value before the first
  // and one behind the last are read, and up to kPixelsAtOnce more are read and written.
  void (*double_row)(const uint8_t* from, uint8_t* to, size_t count);
  void (*double_between)(const uint8_t* near, const uint8_t* far, uint8_t* to, size_t count);

  // Up to kPixelsAtOnce more than `count` pixels are read, none written.
  void (*rgb_row)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, uint8_t* to, size_t count);
};
inline constexpr int kBlocksAtOnce = 4;
inline constexpr size_t kPixelsAtOnce = 64;

// Null where the processor has no AVX2.
const JpegLoops* jpeg_loops();

}  // namespace tessera
