#pragma once
#include <optional>

#include "report/report_curves.h"

namespace tessera {

// The IoU of each class over time, or nothing where no evaluation tells them apart. Of many classes the best and the worst of
// the last evaluation are shown at first, the others on demand; all together have no more than kMaxClassPoints points, or a few
// each.
std::optional<Curve> class_curve(const RunHistory& history);

inline constexpr size_t kMaxClassPoints = 10'000;

}  // namespace tessera
