#include "kernels/label_counts.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "core/error.h"
#include "core/image.h"

namespace tessera {
namespace {

at::Tensor label_counts_cpu(const at::Tensor& labels, int64_t num_classes, int64_t ignore) {
  const at::Tensor counts = at::zeros({num_classes + 1}, at::kLong);
  auto* const to = counts.mutable_data_ptr<int64_t>();
  const auto* const label = labels.const_data_ptr<int16_t>();
  for (int64_t i = 0; i < labels.numel(); ++i) {
    if (label[i] != ignore) ++to[label[i] >= 0 && label[i] < num_classes ? label[i] : num_classes];
  }
  return counts;
}

}  // namespace

at::Tensor label_counts(const at::Tensor& labels, int64_t num_classes) {
  TSR_CHECK(at::isIntegralType(labels.scalar_type(), /*includeBool=*/false) && num_classes > 0 && num_classes < INT16_MAX,
            "expected integer labels and 1 to {} classes, got {} and {}", INT16_MAX - 1, toString(labels.scalar_type()),
            num_classes);
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("tessera::label_counts", "")
                             .typed<at::Tensor(const at::Tensor&, int64_t, int64_t)>();
  return op.call(labels.to(at::kShort).contiguous(), num_classes, kIgnoreLabel);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("label_counts(Tensor labels, int num_classes, int ignore) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("label_counts", label_counts_cpu);
}

}  // namespace tessera
