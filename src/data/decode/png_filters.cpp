#include "data/decode/png_filters.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "data/simd/pixel_loops.h"

namespace tessera {
namespace {

uint8_t paeth(int left, int up, int corner) {
  const int to_left = std::abs(up - corner), to_up = std::abs(left - corner), to_corner = std::abs(left + up - 2 * corner);
  if (to_left <= to_up && to_left <= to_corner) return static_cast<uint8_t>(left);
  return static_cast<uint8_t>(to_up <= to_corner ? up : corner);
}

void undo_average(uint8_t* row, const uint8_t* above, size_t length, size_t unit) {
  for (size_t i = 0; i < length; ++i) {
    const int left = i < unit ? 0 : row[i - unit];
    row[i] = static_cast<uint8_t>(row[i] + (left + above[i]) / 2);
  }
}

// How many bytes from `at` on are 0.
size_t zeros(const uint8_t* at, size_t length) {
  size_t run = 0;
  for (uint64_t word = 0; run + sizeof word <= length; run += sizeof word) {
    std::memcpy(&word, at + run, sizeof word);
    if (word != 0) break;
  }
  while (run < length && at[run] == 0) ++run;
  return run;
}

void undo_paeth(uint8_t* row, const uint8_t* above, size_t length, size_t unit) {
  for (size_t i = 0; i < length; ++i) {
    const int left = i < unit ? 0 : row[i - unit], corner = i < unit ? 0 : above[i - unit];
    if (unit == 1 && left == corner) {
      // What is above is the guess then. Where it is right, the same goes for the next: masks are mostly that.
      const size_t run = zeros(row + i, length - i);
      std::copy_n(above + i, run, row + i);
      i += run;
      if (i == length) return;
      row[i] = static_cast<uint8_t>(row[i] + above[i]);
      continue;
    }
    row[i] = static_cast<uint8_t>(row[i] + paeth(left, above[i], corner));
  }
}

}  // namespace

bool undo_png_filter(int filter, uint8_t* row, const uint8_t* above, size_t length, size_t unit) {
  switch (filter) {
    case 0: return true;
    case 1: pixel_loops().add_left(row, length, unit); return true;
    case 2: pixel_loops().add_row(row, above, length); return true;
    case 3: undo_average(row, above, length, unit); return true;
    case 4: undo_paeth(row, above, length, unit); return true;
    default: return false;
  }
}

}  // namespace tessera
