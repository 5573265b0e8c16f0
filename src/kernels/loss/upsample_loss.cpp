#include "kernels/loss/upsample_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/loss/upsample_bands.h"
#include "kernels/loss/upsample_loss_cpu.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using CrossEntropyOp = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&, const OptionalTensor&, double,
                                                          const OptionalTensor&, const OptionalTensor&, int64_t, bool, bool);
using CrossEntropyBackwardOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                          const OptionalTensor&, double, const OptionalTensor&, const OptionalTensor&, int64_t,
                                          bool);
using SumsOp = at::Tensor(const at::Tensor&, const at::Tensor&, int64_t, bool);
using SumsBackwardOp = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Tensor&, int64_t, bool);

OptionalTensor optional(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
}

std::tuple<at::Tensor, at::Tensor> call_cross_entropy(const at::Tensor& logits, const at::Tensor& labels,
                                                      const CrossEntropyOptions& o, bool with_gradient) {
  static const auto op = find_op<CrossEntropyOp>("tessera::upsample_cross_entropy");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  return op.call(logits, labels, optional(o.class_weights), o.label_smoothing, optional(o.other_labels), optional(o.mix_weight),
                 o.ignore, o.align_corners, with_gradient);
}

// The options as autograd keeps them.
struct SavedOptions : torch::CustomClassHolder {
  explicit SavedOptions(CrossEntropyOptions o) : options(std::move(o)) {}
  CrossEntropyOptions options;
};

struct CrossEntropyFunction : torch::autograd::Function<CrossEntropyFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& labels,
                            const CrossEntropyOptions& options) {
    auto [sum, saved] = call_cross_entropy(logits, labels, options, /*with_gradient=*/true);
    ctx->save_for_backward({saved, logits, labels});
    ctx->saved_data["options"] = c10::IValue::make_capsule(c10::make_intrusive<SavedOptions>(options));
    return sum;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_outputs) {
    static const auto op = find_op<CrossEntropyBackwardOp>("tessera::upsample_cross_entropy_backward");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto saved = ctx->get_saved_variables();
    const auto holder = ctx->saved_data["options"].toCapsule();
    const CrossEntropyOptions& o = static_cast<const SavedOptions&>(*holder).options;
    return {op.call(grad_outputs[0], saved[0], saved[1], saved[2], optional(o.class_weights), o.label_smoothing,
                    optional(o.other_labels), optional(o.mix_weight), o.ignore, o.align_corners),
            {},
            {}};
  }
};

struct SoftmaxSumsFunction : torch::autograd::Function<SoftmaxSumsFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& logits, const at::Tensor& labels,
                            int64_t ignore, bool align_corners) {
    static const auto op = find_op<SumsOp>("tessera::upsample_softmax_sums");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->save_for_backward({logits, labels});
    ctx->saved_data["ignore"] = ignore;
    ctx->saved_data["align_corners"] = align_corners;
    return op.call(logits, labels, ignore, align_corners);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_outputs) {
    static const auto op = find_op<SumsBackwardOp>("tessera::upsample_softmax_sums_backward");
    const auto saved = ctx->get_saved_variables();
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const at::Tensor grad_logits = op.call(saved[0], saved[1], grad_outputs[0], ctx->saved_data["ignore"].toInt(),
                                           ctx->saved_data["align_corners"].toBool());
    return {grad_logits.to(saved[0].scalar_type()), {}, {}, {}};
  }
};

// Half precision is rare on a CPU; its conversion is left to torch.
at::Tensor widened(const at::Tensor& logits) {
  return logits.is_cpu() && logits.scalar_type() == at::kHalf ? logits.to(at::kFloat) : logits;
}

}  // namespace

at::Tensor upsample_cross_entropy(const at::Tensor& logits, const at::Tensor& labels, const CrossEntropyOptions& options) {
  TSR_CHECK(options.other_labels.defined() == options.mix_weight.defined(), "second labels and their mix weight come together");
  TSR_CHECK(!options.class_weights.defined() ||
                (options.class_weights.dim() == 1 && logits.dim() == 4 && options.class_weights.size(0) == logits.size(1)),
            "expected a class weight for each channel of the logits, got {}", options.class_weights.numel());
  const at::Tensor x = widened(logits), checked = check_labels(logits, labels);
  CrossEntropyOptions o = options;
  if (o.other_labels.defined()) {
    TSR_CHECK(o.other_labels.sizes() == labels.sizes() && o.mix_weight.numel() == labels.size(0),
              "expected second labels like the first and one mix weight per image");
    o.other_labels = check_labels(logits, o.other_labels);
  }
  if (x.size(0) == 0) return x.sum(at::kDouble);
  if (x.requires_grad() && at::GradMode::is_enabled()) return CrossEntropyFunction::apply(x, checked, o);
  return std::get<0>(call_cross_entropy(x, checked, o, /*with_gradient=*/false));
}

at::Tensor upsample_softmax_sums(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  const at::Tensor x = widened(logits), checked = check_labels(logits, labels);
  if (x.size(0) == 0) return x.sum({0, 2, 3}, /*keepdim=*/false, at::kDouble).repeat({2, 1});
  return SoftmaxSumsFunction::apply(x, checked, ignore, align_corners);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "upsample_cross_entropy(Tensor logits, Tensor labels, Tensor? class_weights, float label_smoothing, Tensor? "
      "other_labels, Tensor? mix_weight, int ignore, bool align_corners, bool with_gradient) -> (Tensor sum, Tensor saved)");
  m.def(
      "upsample_cross_entropy_backward(Tensor grad_out, Tensor saved, Tensor logits, Tensor labels, Tensor? class_weights, "
      "float label_smoothing, Tensor? other_labels, Tensor? mix_weight, int ignore, bool align_corners) -> Tensor");
  m.def("upsample_softmax_sums(Tensor logits, Tensor labels, int ignore, bool align_corners) -> Tensor");
  m.def(
      "upsample_softmax_sums_backward(Tensor logits, Tensor labels, Tensor grad_out, int ignore, bool align_corners) -> "
      "Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("upsample_cross_entropy", upsample_cross_entropy_cpu);
  m.impl("upsample_cross_entropy_backward", upsample_cross_entropy_backward_cpu);
  m.impl("upsample_softmax_sums", upsample_softmax_sums_cpu);
  m.impl("upsample_softmax_sums_backward", upsample_softmax_sums_backward_cpu);
}

}  // namespace tessera
