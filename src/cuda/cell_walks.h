#pragma once
#include <algorithm>

#include "cuda/logit_arguments.h"

namespace tessera {

inline constexpr int kCellWarps = 4;  // in a block

// The most classes whose logits fit into a warp's registers.
inline constexpr int kMostLanesClasses = 256;

// The rows of cells cut into walks of `length` cells.
struct CellWalks {
  int length, per_row;
  int64_t count;
};

inline CellWalks plan_walks(const LogitArguments& a) {
  const int64_t rows = static_cast<int64_t>(a.images) * a.rows.in, cells = rows * a.columns.in;
  constexpr int64_t kEnoughWalks = 16384, kLongest = 16;  // warps for every core, few columns shared between two
  CellWalks walks{};
  walks.length = static_cast<int>(std::clamp<int64_t>(cells / kEnoughWalks, 1, kLongest));
  walks.per_row = (a.columns.in + walks.length - 1) / walks.length;
  walks.count = rows * walks.per_row;
  return walks;
}

}  // namespace tessera
