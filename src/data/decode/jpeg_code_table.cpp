#include "data/decode/jpeg_code_table.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

bool is_possible(CodeKind kind, uint8_t symbol) {
  constexpr uint8_t kEnd = 0x00, kSixteenZeros = 0xF0;
  if (kind == CodeKind::kDc) return symbol <= kMostDcBits;
  const int size = symbol & 15;
  return size == 0 ? symbol == kEnd || symbol == kSixteenZeros : size <= kMostAcBits;
}

CodeEntry first_code(CodeKind kind, uint8_t symbol, int length) {
  const int size = kind == CodeKind::kDc ? symbol : symbol & 15;
  const bool ends = kind == CodeKind::kAc && symbol == 0;
  return {.bits = static_cast<uint8_t>(length + size),
          .code_bits = static_cast<uint8_t>(length),
          .value_shift = static_cast<uint8_t>(63 - size),
          .step = {ends ? kEndOfBlock : static_cast<uint8_t>((symbol >> 4) + 1), 0},
          .least = static_cast<int16_t>(1 - (1 << size))};
}

void add_second_codes(CodeTable& table) {
  constexpr int kMostBits = 7;  // of a value that an entry has room for
  const auto alone = table.entries;
  const auto mask = static_cast<uint32_t>(alone.size() - 1);
  for (uint32_t i = 0; i < alone.size(); ++i) {
    const CodeEntry& first = alone[i];
    if (first.bits == 0 || first.bits >= kTableBits || first.step[0] == kEndOfBlock) continue;
    const uint32_t rest = i << first.bits & mask;
    const CodeEntry& second = alone[rest];
    const int size = 63 - second.value_shift;
    if (second.bits == 0 || first.bits + second.bits > kTableBits || size > kMostBits) continue;
    const auto value = static_cast<int>((rest << second.code_bits & mask) >> (kTableBits - size));
    CodeEntry& both = table.entries[i];
    both.bits = static_cast<uint8_t>(first.bits + second.bits);
    both.step[1] = second.step[0];
    both.second = static_cast<int8_t>(2 * value < 1 << size ? value + second.least : value);
  }
}

}  // namespace

bool make_code_table(std::span<const uint8_t, 17> counts, std::span<const uint8_t, 256> symbols, CodeKind kind,
                     CodeTable& table) {
  const int total = std::accumulate(counts.begin() + 1, counts.end(), 0);
  if (total > static_cast<int>(symbols.size())) return false;
  if (!std::all_of(symbols.begin(), symbols.begin() + total, [&](uint8_t symbol) { return is_possible(kind, symbol); }))
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
      if (length > kTableBits) continue;
      const int free = kTableBits - length;
      std::fill_n(table.entries.begin() + (code << free), size_t{1} << free,
                  first_code(kind, symbols[static_cast<size_t>(symbol)], length));
    }
    if (code >= 1U << length) return false;  // no code may be all ones
    table.end[at] = code << (16 - length);
  }
  if (kind == CodeKind::kAc) add_second_codes(table);
  return true;
}

}  // namespace tessera
