#include "kernels/common/dropout_mask.h"

#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

at::Tensor dropout_mask_cpu(const at::Tensor& keys, int64_t per_sample, double rate, int64_t layer) {
  const at::Tensor mask = at::empty({keys.size(0), per_sample}, keys.options().dtype(at::kFloat));
  const auto threshold = static_cast<uint32_t>(rate * 4294967296.0);
  const auto scale = static_cast<float>(1.0 / (1.0 - rate));
  const int64_t* key = keys.const_data_ptr<int64_t>();
  float* out = mask.mutable_data_ptr<float>();
  parallel_for(0, mask.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      out[i] = dropout_factor(static_cast<uint64_t>(layer), key[i / per_sample], i % per_sample, threshold, scale);
    }
  });
  return mask;
}

}  // namespace

at::Tensor dropout_mask(const at::Tensor& keys, int64_t per_sample, double rate, uint64_t layer) {
  TSR_CHECK(keys.dim() == 1 && keys.scalar_type() == at::kLong, "dropout_mask expects a list of int64 keys of samples");
  TSR_CHECK(rate >= 0 && rate < 1, "dropout rate {} is not in [0, 1)", rate);
  static const auto op = find_op<decltype(dropout_mask_cpu)>("tessera::dropout_mask");
  return op.call(keys.contiguous(), per_sample, rate, static_cast<int64_t>(layer));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("dropout_mask(Tensor keys, int per_sample, float rate, int layer) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("dropout_mask", dropout_mask_cpu);
}

}  // namespace tessera
