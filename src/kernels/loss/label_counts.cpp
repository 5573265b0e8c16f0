#include "kernels/loss/label_counts.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include "core/error.h"
#include "core/image.h"
#include "kernels/common/find_op.h"
#include "kernels/loss/short_labels.h"

namespace tessera {
namespace {

// labels: (rows, labels of each).
at::Tensor label_counts_cpu(const at::Tensor& labels, int64_t num_classes, int64_t ignore) {
  const at::Tensor counts = at::zeros({labels.size(0), num_classes + 1}, at::kLong);
  const auto* label = labels.const_data_ptr<int16_t>();
  for (int64_t row = 0; row < labels.size(0); ++row) {
    auto* const to = counts.mutable_data_ptr<int64_t>() + row * (num_classes + 1);
    for (const auto* const end = label + labels.size(1); label != end; ++label) {
      if (*label != ignore) ++to[*label >= 0 && *label < num_classes ? *label : num_classes];
    }
  }
  return counts;
}

at::Tensor counts_of_rows(const at::Tensor& labels, int64_t rows, int64_t num_classes) {
  TSR_CHECK(at::isIntegralType(labels.scalar_type(), /*includeBool=*/false) && num_classes > 0 && num_classes < INT16_MAX,
            "expected integer labels and 1 to {} classes, got {} and {}", INT16_MAX - 1, toString(labels.scalar_type()),
            num_classes);
  static const auto op = find_op<decltype(label_counts_cpu)>("tessera::label_counts");
  const int64_t each = rows > 0 ? labels.numel() / rows : 0;
  return op.call(short_labels(labels).view({rows, each}), num_classes, kIgnoreLabel);
}

}  // namespace

at::Tensor label_counts(const at::Tensor& labels, int64_t num_classes) {
  return counts_of_rows(labels, 1, num_classes)[0];
}

at::Tensor image_label_counts(const at::Tensor& labels, int64_t num_classes) {
  return counts_of_rows(labels, labels.size(0), num_classes);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("label_counts(Tensor labels, int num_classes, int ignore) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("label_counts", label_counts_cpu);
}

}  // namespace tessera
