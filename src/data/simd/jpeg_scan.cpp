#include <cstring>

#include "data/simd/jpeg_loop_set.h"

namespace tessera::TSR_SIMD {
namespace {

// Where the coefficients of a block, in the order of the file, lie in its rows. Whatever comes behind the last one goes where
// the first will be written.
constexpr std::array<uint8_t, 256> kPlaces = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                              12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                              35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                              58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

// A copy of a place, which a compiler keeps in registers.
class Bits {
 public:
  explicit Bits(const ScanPlace& place) : place_(place) {}
  const ScanPlace& place() const { return place_; }
  bool ran_out() const { return place_.next > place_.end + sizeof(uint64_t); }

  // At least 56 bits are there afterwards. The bytes come from where the bits before them said, so that nothing waits for them.
  TSR_INLINE void refill() {
    uint64_t more;
    std::memcpy(&more, place_.next, sizeof more);
    place_.bits |= __builtin_bswap64(more) >> place_.count;
    place_.next += (63 - place_.count) >> 3;
    place_.count |= 56;
  }
  TSR_INLINE uint64_t peek(int count) const { return place_.bits >> (64 - count); }
  TSR_INLINE void drop(int count) {
    place_.bits <<= count;
    place_.count -= count;
  }

 private:
  ScanPlace place_;
};

// A number of `size` bits, of which the lower half stands for negative ones.
TSR_INLINE int take_value(Bits& bits, int size) {
  if (size == 0) return 0;
  const int value = static_cast<int>(bits.peek(size));
  bits.drop(size);
  return value < 1 << (size - 1) ? value - (1 << size) + 1 : value;
}

// The symbol of a code that an entry says too little of. Negative where no code begins so.
int take_symbol(Bits& bits, const CodeTable& table, const CodeEntry& entry) {
  if (entry.first_bits != 0) {
    bits.drop(entry.first_bits);
    return entry.value[0];
  }
  const auto code = static_cast<uint32_t>(bits.peek(16));
  for (size_t length = kTableBits + 1; length <= 16; ++length) {
    if (code >= table.end[length]) continue;
    bits.drop(static_cast<int>(length));
    return table.symbols[static_cast<size_t>(table.first_symbol[length] + static_cast<int>(code >> (16 - length)))];
  }
  return -1;
}

// How far DC values can go: they are stored as numbers of 16 bits.
constexpr int kMostDc = 32767;

TSR_INLINE bool read_dc(Bits& bits, const CodeTable& table, int& last) {
  bits.refill();
  const CodeEntry& entry = table.entries[bits.peek(kTableBits)];
  if (entry.bits != 0) {
    bits.drop(entry.bits);
    last += entry.value[0];
  } else {
    const int size = take_symbol(bits, table, entry);
    if (size < 0) return false;
    last += take_value(bits, size);
  }
  return -kMostDc <= last && last <= kMostDc;
}

// Of the symbols between two refills each takes at most kTableBits bits, and a longer one what is left.
constexpr int kLookUps = 3;
static_assert((kLookUps - 1) * kTableBits + 16 + 15 <= 56);

// One that a look-up does not decide. False where no JPEG has it.
template <bool kKeep>
bool read_long(Bits& bits, const CodeTable& table, const CodeEntry& entry, int& k, int16_t* block) {
  const int symbol = take_symbol(bits, table, entry);
  if (symbol < 0) return false;
  const int zeros = symbol >> 4, size = symbol & 15;
  if (size == 0) {
    k += zeros == 15 ? 16 : kEndOfBlock;
    return zeros == 0 || zeros == 15;
  }
  k += zeros + 1;
  const int value = take_value(bits, size);
  if (kKeep) block[kPlaces[static_cast<size_t>(k - 1)]] = static_cast<int16_t>(value);
  return true;
}

template <bool kKeep>
TSR_INLINE bool read_ac(Bits& bits, const CodeTable& table, int16_t* block) {
  for (int k = 1; k < kBlockValues;) {
    bits.refill();
#pragma GCC unroll 3
    for (int i = 0; i < kLookUps; ++i) {
      const CodeEntry& entry = table.entries[bits.peek(kTableBits)];
      if (entry.bits == 0) [[unlikely]] {
        if (!read_long<kKeep>(bits, table, entry, k, block)) return false;
        if (k >= kBlockValues) return k == kBlockValues || k > kEndOfBlock;
        break;
      }
      const int first = k + entry.step[0], second = first + entry.step[1];
      if (kKeep) {
        block[kPlaces[static_cast<size_t>(first - 1)]] = entry.value[0];
        block[kPlaces[static_cast<size_t>(second - 1)]] = entry.value[1];
      }
      if (second >= kBlockValues) {
        // A second symbol behind a full block belongs to the next one.
        const bool ends_first = first >= kBlockValues;
        bits.drop(ends_first ? entry.first_bits : entry.bits);
        k = ends_first ? first : second;
        return k == kBlockValues || k > kEndOfBlock;
      }
      bits.drop(entry.bits);
      k = second;
    }
  }
  return true;
}

template <bool kKeep>
bool read_all(ScanPlace& place, ScanComponent* components, int num_components, int count) {
  Bits bits(place);
  for (int mcu = 0; mcu < count; ++mcu) {
    for (int c = 0; c < num_components; ++c) {
      ScanComponent& component = components[c];
      for (int row = 0; row < component.rows; ++row) {
        for (int column = 0; column < component.columns; ++column) {
          int16_t* block = nullptr;
          if (kKeep) {
            block = component.blocks[static_cast<size_t>(row)] + (mcu * component.columns + column) * kBlockValues;
            std::memset(block, 0, sizeof(int16_t) * kBlockValues);
          }
          if (!read_dc(bits, *component.dc, component.last_dc)) return false;
          if (!read_ac<kKeep>(bits, *component.ac, block)) return false;
          if (kKeep) block[0] = static_cast<int16_t>(component.last_dc);
          if (bits.ran_out()) return false;
        }
      }
    }
  }
  place = bits.place();
  return true;
}

}  // namespace

bool read_mcus(ScanPlace& place, ScanComponent* components, int num_components, int count) {
  return read_all<true>(place, components, num_components, count);
}

bool skip_mcus(ScanPlace& place, ScanComponent* components, int num_components, int count) {
  return read_all<false>(place, components, num_components, count);
}

}  // namespace tessera::TSR_SIMD
