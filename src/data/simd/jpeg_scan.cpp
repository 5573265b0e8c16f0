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
  TSR_INLINE uint64_t all() const { return place_.bits; }
  TSR_INLINE uint64_t peek(int count) const { return place_.bits >> (64 - count); }
  TSR_INLINE void drop(int count) {
    place_.bits <<= count;
    place_.count -= count;
  }

 private:
  ScanPlace place_;
};

// The number that `bits` begin with, of 63 - shift bits. The lower half of such stands for negative ones, from `least` on.
TSR_INLINE int value_at(uint64_t bits, int shift, int least) {
  const auto positive = static_cast<int>(static_cast<int64_t>(bits) >> 63);  // all ones where the first bit is 1
  return static_cast<int>(bits >> 1 >> shift) + (least & ~positive);
}
TSR_INLINE int value_of_size(uint64_t bits, int size) {
  return value_at(bits, 63 - size, 1 - (1 << size));
}

// The symbol of a code that is too long for the look-up; negative where no code begins so.
int take_symbol(Bits& bits, const CodeTable& table) {
  const auto code = static_cast<uint32_t>(bits.peek(16));
  for (size_t length = kTableBits + 1; length <= 16; ++length) {
    if (code >= table.end[length]) continue;
    bits.drop(static_cast<int>(length));
    const int symbol = table.first_symbol[length] + static_cast<int>(code >> (16 - length));
    return table.symbols[static_cast<size_t>(symbol)];
  }
  return -1;
}

// How far DC values can go: they are stored as numbers of 16 bits.
constexpr int kMostDc = 32767;

TSR_INLINE bool read_dc(Bits& bits, const CodeTable& table, int& last) {
  bits.refill();
  const CodeEntry& entry = table.entries[bits.peek(kTableBits)];
  int size = 63 - entry.value_shift;
  if (entry.bits == 0) [[unlikely]] {
    size = take_symbol(bits, table);
    if (size < 0) return false;
  } else {
    bits.drop(entry.code_bits);
  }
  last += value_of_size(bits.all(), size);
  bits.drop(size);
  return -kMostDc <= last && last <= kMostDc;
}

// Between two refills.
constexpr int kLookUps = 2;
static_assert((kLookUps - 1) * (kTableBits + kMostAcBits) + 16 + kMostAcBits <= 56);

// Whether a block may end whose last coefficient was number `place`.
TSR_INLINE bool ends_well(size_t place) {
  return place == kBlockValues - 1 || place >= kEndOfBlock;
}

// False where no JPEG goes on like that. place: of the last coefficient.
template <bool kKeep>
bool read_long(Bits& bits, const CodeTable& table, size_t& place, int16_t* block) {
  const int symbol = take_symbol(bits, table);
  if (symbol < 0) return false;
  const int size = symbol & 15;
  place += symbol == 0 ? kEndOfBlock : static_cast<size_t>(symbol >> 4) + 1;
  if (kKeep) block[kPlaces[place]] = static_cast<int16_t>(value_of_size(bits.all(), size));
  bits.drop(size);
  return true;
}

template <bool kKeep>
TSR_INLINE bool read_ac(Bits& bits, const CodeTable& table, int16_t* block) {
  for (size_t place = 0; place < kBlockValues - 1;) {
    bits.refill();
#pragma GCC unroll 2
    for (int i = 0; i < kLookUps; ++i) {
      const CodeEntry& entry = table.entries[bits.peek(kTableBits)];
      const int taken = entry.bits;
      if (taken == 0) [[unlikely]] {
        if (!read_long<kKeep>(bits, table, place, block)) return false;
        if (place >= kBlockValues - 1) return ends_well(place);
        break;
      }
      // All of the entry is read before anything is written, which for a compiler might be the table.
      const size_t first = place + entry.step[0], second = first + entry.step[1];
      if (kKeep) {
        const auto second_value = static_cast<int16_t>(entry.second);
        const auto first_value = static_cast<int16_t>(value_at(bits.all() << entry.code_bits, entry.value_shift, entry.least));
        // In this order, for where there is no second one.
        block[kPlaces[second]] = second_value;
        block[kPlaces[first]] = first_value;
      }
      if (second >= kBlockValues - 1) {
        // A second symbol behind a full block belongs to the next one.
        if (first < kBlockValues - 1) {
          bits.drop(taken);
          return ends_well(second);
        }
        const CodeEntry& last = table.entries[bits.peek(kTableBits)];
        bits.drop(last.code_bits + 63 - last.value_shift);
        return ends_well(first);
      }
      bits.drop(taken);
      place = second;
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
