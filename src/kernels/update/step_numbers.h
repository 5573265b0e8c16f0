#pragma once
#include <c10/util/ArrayRef.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <bit>
#include <type_traits>

#include "kernels/update/update_rule.h"

// How the ops `optimizer_step` and `trust_norms` carry their arguments: a dispatcher passes lists of numbers, not structs.
namespace tessera {

struct RangeBounds {
  int64_t begin, end;
};
// A part of a range that is summed up by itself.
struct RangeChunk {
  int64_t range, begin, end;
};
constexpr int64_t kRangeRates = sizeof(RangeRates) / sizeof(double);  // columns of the table `rates`
static_assert(sizeof(RangeRates) % sizeof(double) == 0);

using NumberList = std::array<double, sizeof(StepNumbers) / sizeof(double)>;

inline NumberList to_list(const StepNumbers& numbers) {
  return std::bit_cast<NumberList>(numbers);
}
inline StepNumbers from_list(c10::ArrayRef<double> list) {
  NumberList numbers;
  TORCH_INTERNAL_ASSERT(list.size() == numbers.size());
  std::copy(list.begin(), list.end(), numbers.begin());
  return std::bit_cast<StepNumbers>(numbers);
}

// Calls work(std::integral_constant<UpdateRule, rule>).
template <class Work>
void with_rule(int64_t rule, const Work& work) {
  using enum UpdateRule;
  switch (static_cast<UpdateRule>(rule)) {
    case kSgd: return work(std::integral_constant<UpdateRule, kSgd>{});
    case kMomentum: return work(std::integral_constant<UpdateRule, kMomentum>{});
    case kNesterov: return work(std::integral_constant<UpdateRule, kNesterov>{});
    case kAdam: return work(std::integral_constant<UpdateRule, kAdam>{});
    case kLamb: return work(std::integral_constant<UpdateRule, kLamb>{});
    case kLars: return work(std::integral_constant<UpdateRule, kLars>{});
    case kLion: return work(std::integral_constant<UpdateRule, kLion>{});
  }
  TORCH_INTERNAL_ASSERT(false, "no optimizer rule has the number ", rule);
}

}  // namespace tessera
