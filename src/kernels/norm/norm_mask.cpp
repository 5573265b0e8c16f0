#include "kernels/norm/norm_mask.h"

#include <ATen/ATen.h>

namespace tessera {

at::Tensor samples_of_group(const at::Tensor& x, const NormActOptions& options, int64_t group) {
  const int64_t begin = group == 0 ? 0 : options.ends[static_cast<size_t>(group - 1)];
  return x.narrow(0, begin, options.ends[static_cast<size_t>(group)] - begin);
}

void mask_groups(const NormActOptions& options, const at::Tensor& x, at::Tensor& means, at::Tensor& grad_weight,
                 at::Tensor& grad_bias) {
  for (const int64_t group : options.masked_groups) means[group].zero_();
  at::Tensor sums = at::zeros_like(means[0]);
  for (int64_t group = 0; group < means.size(0); ++group) {
    sums.add_(means[group], static_cast<double>(samples_of_group(x, options, group).numel() / x.size(1)));
  }
  grad_bias = sums[0].to(grad_bias.scalar_type());
  grad_weight = sums[1].to(grad_weight.scalar_type());
}

}  // namespace tessera
