#include "kernels/loss/upsample_loss_cpu.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "kernels/loss/upsample_bands.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

// Runs `task` over all bands and puts their gradients together.
template <class T>
class SoftmaxPass {
 public:
  SoftmaxPass(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners, SoftmaxTask task)
      : logits_(logits), labels_(labels), ignore_(ignore), bands_(logits, labels.sizes().slice(1), align_corners) {
    common_.task = task;
  }

  // A table of one number per class, padded, for the bands.
  const T* table(const at::Tensor& values) {
    const at::Tensor padded = at::zeros({bands_.padded()}, type());
    padded.narrow(0, 0, values.size(0)).copy_(values);
    tables_.push_back(padded);
    return padded.const_data_ptr<T>();
  }

  SoftmaxBand<T>& common() { return common_; }
  void set_mixed(const at::Tensor& other_labels, const at::Tensor& mix_weight) {
    other_labels_ = other_labels;
    mix_weight_ = mix_weight.to(at::kCPU, at::kDouble).contiguous();
  }

  void run(bool with_gradient) {
    const int64_t count = bands_.count(), classes = logits_.size(1), padded = bands_.padded();
    results_.resize(static_cast<size_t>(count));
    if (common_.task == SoftmaxTask::kSums) sums_ = at::zeros({count, 2, padded}, at::kDouble);
    if (with_gradient) gradient_ = at::empty(logits_.sizes(), logits_.options().dtype(type()), logits_.suggest_memory_format());
    std::vector<at::Tensor> parts(static_cast<size_t>(count));  // of the gradient, where bands have rows of logits in common
    bands_.for_each([&](int64_t i, T* scratch) {
      SoftmaxBand<T> band = common_;
      bands_.describe(i, labels_, ignore_, scratch, band);
      if (other_labels_.defined()) {
        band.other_labels = other_labels_.const_data_ptr<int16_t>() + (band.labels - labels_.const_data_ptr<int16_t>());
        band.mix_weight = static_cast<T>(mix_weight_.const_data_ptr<double>()[bands_.image(i)]);
      }
      if (sums_.defined()) band.sums = sums_.mutable_data_ptr<double>() + i * 2 * padded;
      if (with_gradient && bands_.pixelwise()) {
        band.gradient =
            gradient_.mutable_data_ptr<T>() + bands_.image(i) * gradient_.stride(0) + band.begin * gradient_.stride(2);
        band.gradient_stride_class = gradient_.stride(1);
        band.gradient_stride_y = gradient_.stride(2);
        band.gradient_stride_x = gradient_.stride(3);
      } else if (with_gradient) {
        at::Tensor& part = parts[static_cast<size_t>(i)];
        part = at::zeros({bands_.low_end(i) - bands_.low_begin(i), logits_.size(3), padded}, type());
        band.gradient = part.mutable_data_ptr<T>();
      }
      band_loops<T>().softmax(band);
      results_[static_cast<size_t>(i)] = {band.value, band.bad_label};
    });
    for (const Result& result : results_) {
      TSR_CHECK(!result.bad_label,
                "expected labels in 0..{} or {} (ignored); check the number of classes and the label mapping", classes - 1,
                ignore_);
    }
    if (with_gradient && !bands_.pixelwise()) gather(parts);
  }

  at::Tensor value() const {
    double total = 0;
    for (int64_t n = 0; n < logits_.size(0); ++n) {  // within images first, so that an image's sum is its own
      double sum = 0;
      for (int64_t i = bands_.first_band(n); i < bands_.first_band(n + 1); ++i) sum += results_[static_cast<size_t>(i)].value;
      total += sum;
    }
    return at::scalar_tensor(total, at::kDouble);
  }
  at::Tensor sums() const {
    const int64_t row = 2 * bands_.padded();
    std::vector<double> total(static_cast<size_t>(row)), image(total.size());
    for (int64_t i = 0; i < bands_.count(); ++i) {
      const double* band = sums_.const_data_ptr<double>() + i * row;
      for (size_t k = 0; k < image.size(); ++k) image[k] += band[k];
      if (i + 1 < bands_.first_band(bands_.image(i) + 1)) continue;
      for (size_t k = 0; k < image.size(); ++k) total[k] += std::exchange(image[k], 0.0);
    }
    return at::tensor(total, at::kDouble).view({2, -1}).narrow(1, 0, logits_.size(1)).contiguous();
  }
  const at::Tensor& gradient() const { return gradient_; }

 private:
  struct Result {
    double value;
    bool bad_label;
  };
  static at::ScalarType type() { return at::CppTypeToScalarType<T>::value; }

  // Each row of the gradient is the sum of the bands that read it, in their order.
  void gather(const std::vector<at::Tensor>& parts) {
    const int64_t height = logits_.size(2), width = logits_.size(3), classes = logits_.size(1), padded = bands_.padded();
    const int64_t stride_class = gradient_.stride(1), stride_x = gradient_.stride(3);
    parallel_for(0, logits_.size(0) * height, 1, [&](int64_t begin, int64_t end) {
      std::vector<T> row(static_cast<size_t>(width * padded));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / height, y = i % height;
        std::fill(row.begin(), row.end(), T(0));
        for (int64_t b = bands_.first_band(n); b < bands_.first_band(n + 1); ++b) {
          if (y < bands_.low_begin(b) || y >= bands_.low_end(b)) continue;
          const T* from =
              parts[static_cast<size_t>(b)].template const_data_ptr<T>() + (y - bands_.low_begin(b)) * width * padded;
          for (size_t k = 0; k < row.size(); ++k) row[k] += from[k];
        }
        T* to = gradient_.mutable_data_ptr<T>() + n * gradient_.stride(0) + y * gradient_.stride(2);
        for (int64_t x = 0; x < width; ++x) {
          const T* from = row.data() + x * padded;
          for (int64_t c = 0; c < classes; ++c) to[x * stride_x + c * stride_class] = from[c];
        }
      }
    });
  }

  at::Tensor logits_, labels_, other_labels_, mix_weight_, sums_, gradient_;
  int64_t ignore_;
  UpsampleBands<T> bands_;
  SoftmaxBand<T> common_{};
  std::vector<at::Tensor> tables_;
  std::vector<Result> results_;
};

template <class Call>
auto with_compute_type(const at::Tensor& logits, Call&& call) {
  return logits.scalar_type() == at::kDouble ? call(double{}) : call(float{});
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> upsample_cross_entropy_cpu(const at::Tensor& logits, const at::Tensor& labels,
                                                              const std::optional<at::Tensor>& class_weights,
                                                              double label_smoothing,
                                                              const std::optional<at::Tensor>& other_labels,
                                                              const std::optional<at::Tensor>& mix_weight, int64_t ignore,
                                                              bool align_corners, bool with_gradient) {
  const int64_t classes = logits.size(1);
  const at::Tensor weights = class_weights ? class_weights->to(at::kCPU, at::kDouble) : at::ones({classes}, at::kDouble);
  return with_compute_type(logits, [&](auto zero) {
    using T = decltype(zero);
    SoftmaxPass<T> pass(logits, labels, ignore, align_corners, SoftmaxTask::kCrossEntropy);
    pass.common().target_weight = pass.table((1 - label_smoothing) * weights);
    if (label_smoothing > 0) {
      const at::Tensor spread = label_smoothing / static_cast<double>(classes) * weights;
      pass.common().spread_weight = pass.table(spread);
      pass.common().spread_total = static_cast<T>(spread.sum().template item<double>());
    }
    if (other_labels) pass.set_mixed(*other_labels, *mix_weight);
    pass.run(with_gradient);
    return std::tuple(pass.value(), with_gradient ? pass.gradient() : at::empty({0}, logits.options()));
  });
}

at::Tensor upsample_cross_entropy_backward_cpu(const at::Tensor& grad_out, const at::Tensor& saved, const at::Tensor& logits,
                                               const at::Tensor& /*labels*/, const std::optional<at::Tensor>& /*class_weights*/,
                                               double /*label_smoothing*/, const std::optional<at::Tensor>& /*other_labels*/,
                                               const std::optional<at::Tensor>& /*mix_weight*/, int64_t /*ignore*/,
                                               bool /*align_corners*/) {
  return (saved * grad_out.to(saved.scalar_type())).to(logits.scalar_type());
}

at::Tensor upsample_softmax_sums_cpu(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners) {
  return with_compute_type(logits, [&](auto zero) {
    SoftmaxPass<decltype(zero)> pass(logits, labels, ignore, align_corners, SoftmaxTask::kSums);
    pass.run(/*with_gradient=*/false);
    return pass.sums();
  });
}

at::Tensor upsample_softmax_sums_backward_cpu(const at::Tensor& logits, const at::Tensor& labels, const at::Tensor& grad_out,
                                              int64_t ignore, bool align_corners) {
  return with_compute_type(logits, [&](auto zero) {
    SoftmaxPass<decltype(zero)> pass(logits, labels, ignore, align_corners, SoftmaxTask::kSumsGradient);
    pass.common().grad_label_sum = pass.table(grad_out[0]);
    pass.common().grad_sum = pass.table(grad_out[1]);
    pass.run(/*with_gradient=*/true);
    return pass.gradient();
  });
}

}  // namespace tessera
