#include "kernels/loss/classifier_loss.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/loss/short_labels.h"
#include "kernels/loss/upsample_loss_cpu.h"
#include "tensor/pixel_matrix.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using OptionalTensor = std::optional<at::Tensor>;
using Results = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;
using LossOp = Results(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                       double, int64_t, const OptionalTensor&);
using ScaleOp = void(at::Tensor&, const at::Tensor&);

// Gradients carry the scale when they are first rounded. In float16 that would leave nothing of them: there it comes together
// with the loss's own scale, in backward.
bool scales_late(const at::Tensor& features) {
  return features.scalar_type() == at::kHalf;
}

struct ClassifierLossFunction : torch::autograd::Function<ClassifierLossFunction> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& features, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& labels, const CrossEntropyOptions& o, const at::Tensor& scale) {
    static const auto op = find_op<LossOp>("tessera::classifier_loss");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const auto optional = [](const at::Tensor& x, bool given) { return given ? OptionalTensor(x) : std::nullopt; };
    const auto [sum, grad_features, grad_weight, grad_bias] =
        op.call(features, weight.flatten(1).to(features.scalar_type()).contiguous(), bias.to(at::kFloat), labels,
                optional(o.class_weights, o.class_weights.defined()), o.label_smoothing, o.ignore,
                optional(scale, !scales_late(features)));
    ctx->save_for_backward({grad_features, grad_weight, grad_bias, scale});
    ctx->saved_data["weight_type"] = weight.scalar_type();
    ctx->saved_data["bias_type"] = bias.scalar_type();
    return sum * scale;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<ScaleOp>("tessera::scale_unless_one_");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const variable_list saved = ctx->get_saved_variables();
    at::Tensor grad_features = saved[0];
    const at::Tensor factor = scales_late(grad_features) ? grad_outputs[0] * saved[3] : grad_outputs[0];
    op.call(grad_features, factor);
    grad_features.unsafeGetTensorImpl()->bump_version();  // a second time, autograd would find it multiplied already
    const at::Tensor grad_weight = (saved[1] * factor).to(ctx->saved_data["weight_type"].toScalarType());
    const at::Tensor grad_bias = (saved[2] * factor).to(ctx->saved_data["bias_type"].toScalarType());
    return {grad_features, grad_weight.unsqueeze(2).unsqueeze(3), grad_bias, {}, {}, {}};
  }
};

// The logits, one operation after another.
Results classifier_loss_cpu(const at::Tensor& features, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& labels, const OptionalTensor& class_weights, double smoothing, int64_t ignore,
                            const OptionalTensor& scale) {
  const at::Tensor rows = pixel_rows(features).to(at::kFloat), matrix = weight.to(at::kFloat);
  const at::Tensor logits = image_of_rows(at::addmm(bias, rows, matrix.t()), features.sizes());
  const auto [sum, saved] =
      upsample_cross_entropy_cpu(logits, labels, class_weights, smoothing, {}, {}, ignore, /*align_corners=*/false, true);
  const at::Tensor grad_logits = pixel_rows(scale ? saved * scale->to(at::kFloat) : saved);
  return {sum, image_of_rows(grad_logits.mm(matrix), features.sizes()).to(features.scalar_type()), grad_logits.t().mm(rows),
          grad_logits.sum(0)};
}

void scale_unless_one_cpu(at::Tensor& x, const at::Tensor& factor) {
  if (factor.item<double>() != 1) x.mul_(factor);
}

}  // namespace

bool PixelClassifier::fits() const {
  const int64_t channels = features.size(1), classes = weight.size(0);
  const bool half = features.scalar_type() == at::kBFloat16 || features.scalar_type() == at::kHalf;
  return half && features.numel() > 0 && channels % 8 == 0 && channels <= 128 && classes <= (channels > 64 ? 160 : 256) &&
         features.is_contiguous(at::MemoryFormat::ChannelsLast) &&
         reinterpret_cast<uintptr_t>(features.const_data_ptr()) % 16 == 0;
}

at::Tensor classifier_cross_entropy(const PixelClassifier& classifier, const at::Tensor& labels,
                                    const CrossEntropyOptions& options, const at::Tensor& scale) {
  const auto& [features, weight, bias] = classifier;
  TSR_CHECK(classifier.fits(), "expected half-precision features in channels_last, got {} of type {} and {} classes",
            features.size(1), toString(features.scalar_type()), weight.size(0));
  TSR_CHECK(weight.sizes().slice(1) == at::IntArrayRef({features.size(1), 1, 1}) && bias.numel() == weight.size(0) &&
                (!options.class_weights.defined() || options.class_weights.numel() == weight.size(0)),
            "expected 1x1 weights of {} channels, and a bias and maybe a class weight for each of {} classes", features.size(1),
            weight.size(0));
  TSR_CHECK(!options.other_labels.defined(), "the fused classifier takes one label a pixel; make logits for mixed ones");
  TSR_CHECK(labels.dim() == 3 && labels.size(0) == features.size(0) && labels.sizes().slice(1) == features.sizes().slice(2),
            "expected labels of the features' size");
  return ClassifierLossFunction::apply(features, weight, bias, short_labels(labels), options,
                                       scale.to(features.device(), at::kDouble));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "classifier_loss(Tensor features, Tensor weight, Tensor bias, Tensor labels, Tensor? class_weights, float "
      "label_smoothing, int ignore, Tensor? scale) -> (Tensor sum, Tensor grad_features, Tensor grad_weight, Tensor "
      "grad_bias)");
  m.def("scale_unless_one_(Tensor(a!) x, Tensor factor) -> ()");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("classifier_loss", classifier_loss_cpu);
  m.impl("scale_unless_one_", scale_unless_one_cpu);
}

}  // namespace tessera
