#include "data/decode/jpeg_code_table.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

constexpr int kMostDcBits = 15;

// What the `bits` bits behind a code make of it: the upper half of them are the numbers themselves.
int16_t signed_value(uint32_t stored, int bits) {
  if (bits == 0) return 0;
  return static_cast<int16_t>(static_cast<int>(stored) - (stored < 1U << (bits - 1) ? (1 << bits) - 1 : 0));
}

// The entries of all numbers that begin with a code.
void fill_code(CodeTable& table, CodeKind kind, uint32_t code, int length, uint8_t symbol) {
  const int free = kTableBits - length;
  const int zeros = kind == CodeKind::kDc ? 0 : symbol >> 4, size = kind == CodeKind::kDc ? symbol : symbol & 15;
  const bool ends = kind == CodeKind::kAc && size == 0 && zeros == 0;
  const bool is_odd = kind == CodeKind::kAc && size == 0 && zeros != 0 && zeros != 15;
  for (uint32_t rest = 0; rest < 1U << free; ++rest) {
    CodeEntry& entry = table.entries[(code << free) | rest];
    if (size > free || is_odd) {
      entry = {.value = {symbol, 0}, .first_bits = static_cast<uint8_t>(length)};
      continue;
    }
    const auto bits = static_cast<uint8_t>(length + size);
    const int16_t value = signed_value(rest >> (free - size), size);
    entry = {.value = {value, value},
             .step = {ends ? kEndOfBlock : static_cast<uint8_t>(zeros + 1), 0},
             .bits = bits,
             .first_bits = bits};
  }
}

// Second symbols, where all of them lies within the look-up.
void add_second_symbols(CodeTable& table) {
  const auto single = table.entries;
  for (uint32_t i = 0; i < single.size(); ++i) {
    const CodeEntry& first = single[i];
    if (first.bits == 0 || first.step[0] == kEndOfBlock) continue;
    const CodeEntry& second = single[(i << first.bits) & (single.size() - 1)];
    if (second.bits == 0 || first.bits + second.bits > kTableBits) continue;
    CodeEntry& both = table.entries[i];
    both.value[1] = second.value[0];
    both.step[1] = second.step[0];
    both.bits = static_cast<uint8_t>(first.bits + second.bits);
  }
}

}  // namespace

bool make_code_table(std::span<const uint8_t, 17> counts, std::span<const uint8_t, 256> symbols, CodeKind kind,
                     CodeTable& table) {
  const int total = std::accumulate(counts.begin() + 1, counts.end(), 0);
  if (total > static_cast<int>(symbols.size())) return false;
  if (kind == CodeKind::kDc && std::any_of(symbols.begin(), symbols.begin() + total, [](uint8_t s) { return s > kMostDcBits; }))
    return false;
  std::copy(symbols.begin(), symbols.end(), table.symbols.begin());
  table.entries.fill({});
  table.end.fill(0);
  table.first_symbol.fill(0);
  uint32_t code = 0;
  int symbol = 0;
  for (int length = 1; length <= 16; ++length, code <<= 1) {
    const auto at = static_cast<size_t>(length);
    table.first_symbol[at] = symbol - static_cast<int>(code);
    for (int i = 0; i < counts[at]; ++i, ++code, ++symbol) {
      if (code >= 1U << length) return false;
      if (length <= kTableBits) fill_code(table, kind, code, length, symbols[static_cast<size_t>(symbol)]);
    }
    if (code >= 1U << length) return false;  // no code may be all ones
    table.end[at] = code << (16 - length);
  }
  if (kind == CodeKind::kAc) add_second_symbols(table);
  return true;
}

}  // namespace tessera
