#include "kernels/norm/norm_check.h"

#include <fmt/ranges.h>

#include "core/error.h"

namespace tessera {

void check_norm_input(const at::Tensor& x, const std::vector<int64_t>& ends) {
  TSR_CHECK(x.dim() == 4 && x.numel() > 0 && at::isFloatingType(x.scalar_type()),
            "batch norm expects floating-point (N, C, H, W) with at least one value, got {} of {}", fmt::join(x.sizes(), " x "),
            toString(x.scalar_type()));
  bool rises = !ends.empty() && ends.back() == x.size(0);
  for (size_t i = 0; i < ends.size(); ++i) rises = rises && ends[i] > (i == 0 ? 0 : ends[i - 1]);
  TSR_CHECK(rises, "batch norm expects groups of samples that rise to {}, got {}", x.size(0), fmt::join(ends, " "));
}

void check_norm_arguments(const at::Tensor& x, const std::vector<int64_t>& ends, const at::Tensor& moments,
                          const at::Tensor& weight, const at::Tensor& bias) {
  check_norm_input(x, ends);
  TSR_CHECK(moments.dim() == 3 && moments.size(0) == static_cast<int64_t>(ends.size()) && moments.size(1) == 2 &&
                moments.size(2) == x.size(1) && moments.scalar_type() == at::kDouble,
            "expected float64 moments ({} x 2 x {}), got {}", ends.size(), x.size(1), fmt::join(moments.sizes(), " x "));
  TSR_CHECK(weight.numel() == x.size(1) && bias.numel() == x.size(1),
            "expected a weight and a bias for {} channels, got {} and {}", x.size(1), weight.numel(), bias.numel());
}

}  // namespace tessera
