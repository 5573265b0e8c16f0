#pragma once
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <optional>
#include <vector>

#include "cuda/loss/softmax_cells.h"
#include "cuda/loss/softmax_class_sums.h"
#include "cuda/loss/softmax_pixels.h"
#include "cuda/loss/softmax_planes.h"
#include "cuda/loss/softmax_tiles.h"

namespace tessera {

using OptionalTensor = std::optional<at::Tensor>;

// One call's arguments, and the tensors they point into.
template <class T>
class SoftmaxCall {
 public:
  SoftmaxCall(const at::Tensor& logits, const at::Tensor& labels, int64_t ignore, bool align_corners)
      : arguments_{logit_arguments(logits, labels.sizes().slice(1), align_corners), labels.const_data_ptr<int16_t>(), nullptr,
                   nullptr, static_cast<int>(ignore)},
        logits_(logits),
        labels_(labels) {
    walks_ = plan_walks(arguments_);
    if (!pixelwise() || !kThreadPixels) return;
    planes_ = arguments_.strides.column == 1 && (arguments_.strides.channel != 1 || arguments_.classes == 1);
    if (!planes_) tiles_ = plan_tiles(arguments_, logits.element_size());
  }

  void set_targets(const OptionalTensor& class_weights, double smoothing, const OptionalTensor& other_labels,
                   const OptionalTensor& mix_weight) {
    arguments_.smoothing = static_cast<T>(smoothing);
    if (class_weights) {
      const at::Tensor weights = class_weights->to(logits_.device(), at::kDouble);
      arguments_.weight = keep(at::cat({weights, weights.sum().view({1})}));
    }
    if (!other_labels) return;
    kept_.push_back(*other_labels);
    arguments_.other_labels = other_labels->const_data_ptr<int16_t>();
    arguments_.mix_weight = keep(*mix_weight);
  }
  void set_grad_sums(const at::Tensor& grad_sums) { arguments_.grad_sums = keep(grad_sums); }
  void set_log_sums(const at::Tensor& log_sums) { arguments_.log_sum = log_sums.mutable_data_ptr<T>(); }

  // Where nothing is interpolated, cells would be single pixels.
  bool pixelwise() const {
    return arguments_.rows.in == arguments_.rows.out && arguments_.columns.in == arguments_.columns.out;
  }

  // For logits of the labels' size: the sums over classes of every pixel, (2, N, H, W). Fills `values`, where not null, with
  // (N, parts) of the cross entropy.
  at::Tensor find_sums(at::Tensor* values) {
    const at::Tensor found = empty({2, labels_.size(0), labels_.size(1), labels_.size(2)});
    arguments_.log_sum = found[0].template mutable_data_ptr<T>();
    arguments_.grad_dot = found[1].template mutable_data_ptr<T>();
    if (tiles_) {
      const at::Tensor of_tiles = empty({arguments_.images, tiles_->cut.count / arguments_.images}, at::kDouble);
      with_packs([&](auto stored, auto pack) {
        launch(tile_sums_kernel<T, decltype(stored), pack()>, tile_blocks(), tiles_->cut.pixels, tiles_->tile_bytes, arguments_,
               *tiles_, values != nullptr ? of_tiles.mutable_data_ptr<double>() : nullptr);
      });
      if (values != nullptr) *values = of_tiles;
      return found;
    }
    if (values != nullptr) *values = empty(labels_.sizes());
    T* const of_pixels = values != nullptr ? values->mutable_data_ptr<T>() : nullptr;
    if (planes_) {
      with_planes([&](auto stored) {
        launch(plane_sums_kernel<T, decltype(stored)>, blocks_for(labels_.numel(), kPlaneThreads), kPlaneThreads, 0, arguments_,
               of_pixels);
      });
    } else {
      launch(pixel_sums_kernel<T>, blocks_for(labels_.numel(), kPixelWarps), 32 * kPixelWarps, 0, arguments_, of_pixels);
    }
    return found;
  }

  // (N, parts, 2, C): sums of softmax, to be added up.
  at::Tensor class_sums() {
    if (tiles_ && tiles_->tile_bytes + class_sums_bytes<T>(*tiles_, arguments_.classes) <= kMostTileBytes) {
      const at::Tensor sums = empty({arguments_.images, tiles_->cut.count / arguments_.images, 2, arguments_.classes});
      with_packs([&](auto stored, auto pack) {
        launch(tile_class_sums_kernel<T, decltype(stored), pack()>, tile_blocks(), tiles_->cut.pixels,
               tiles_->tile_bytes + class_sums_bytes<T>(*tiles_, arguments_.classes), arguments_, *tiles_,
               sums.mutable_data_ptr<T>());
      });
      return sums;
    }
    const at::Tensor sums = empty_walks({2, arguments_.classes}, at::CppTypeToScalarType<T>::value);
    walk_cells<LossTask::kSums>({.sums = sums.mutable_data_ptr<T>()});
    return sums;
  }

  at::Tensor empty(at::IntArrayRef size, at::ScalarType type = at::CppTypeToScalarType<T>::value) const {
    return at::empty(size, logits_.options().dtype(type).memory_format(std::nullopt));
  }
  at::Tensor empty_parts() const { return empty({walks_.count, walks_.length + 1, 2, arguments_.classes}); }
  at::Tensor empty_values() const { return empty_walks({stretches()}, at::kDouble); }
  at::Tensor empty_walks(at::IntArrayRef rest, at::ScalarType type) const {
    std::vector<int64_t> size{arguments_.images, walks_.count / arguments_.images};
    size.insert(size.end(), rest.begin(), rest.end());
    return empty(size, type);
  }

  template <LossTask kTask>
  void walk_cells(const CellOutput<T>& to) {
    const int classes = arguments_.classes;
    if (stretches() > 1) {
      find_log_sums();
      return start<kMostLanes, kTask, true>(to);
    }
    if constexpr (kMostLanes > 1) {
      if (classes > 160) return start<8, kTask, false>(to);
      if (classes > 96) return start<5, kTask, false>(to);
      if (classes > 32) return start<3, kTask, false>(to);
    }
    start<1, kTask, false>(to);
  }

  // The gradient in the logits' type and layout. grad_out: null, or a float64 number on the device.
  at::Tensor gather(const at::Tensor& parts, const double* grad_out) const {
    const at::Tensor gradient = empty_gradient();
    const int64_t places = logits_.size(0) * logits_.size(2) * logits_.size(3);
    with_stored_type([&](auto stored) {
      using S = decltype(stored);
      launch(gather_parts_kernel<T, S>, blocks_for(places, kGatherWarps), 32 * kGatherWarps, 0, parts.const_data_ptr<T>(),
             walks_, arguments_.images, arguments_.classes, arguments_.rows.in, arguments_.columns.in, grad_out,
             gradient.mutable_data_ptr<S>(), strides_of(gradient));
    });
    return gradient;
  }

  template <LossTask kTask>
  at::Tensor pixel_gradient(const double* grad_out) const {
    const at::Tensor gradient = empty_gradient();
    if (tiles_ && gradient.stride(3) == tiles_->gradient_pitch.global) {
      with_packs([&](auto stored, auto pack) {
        using S = decltype(stored);
        launch(tile_gradient_kernel<T, S, pack(), kTask>, tile_blocks(), tiles_->cut.pixels,
               tiles_->tile_bytes + tiles_->gradient_bytes, arguments_, *tiles_, grad_out, gradient.mutable_data_ptr<S>());
      });
      return gradient;
    }
    if (planes_) {
      with_planes([&](auto stored) {
        using S = decltype(stored);
        launch(plane_gradient_kernel<T, S, kTask>, blocks_for(labels_.numel(), kPlaneThreads), kPlaneThreads, 0, arguments_,
               grad_out, gradient.mutable_data_ptr<S>(), strides_of(gradient));
      });
      return gradient;
    }
    with_stored_type([&](auto stored) {
      using S = decltype(stored);
      launch(pixel_gradient_kernel<T, S, kTask>, blocks_for(labels_.numel(), kPixelWarps), 32 * kPixelWarps, 0, arguments_,
             grad_out, gradient.mutable_data_ptr<S>(), strides_of(gradient));
    });
    return gradient;
  }

 private:
  static constexpr int64_t kPixelWarps = 8;
  // float64 is for checking, and needs no more kernels: a warp takes the fewest classes, and has a pixel wherever these lie.
  static constexpr int kMostLanes = kMostLanesClasses<T> / 32;
  static constexpr bool kThreadPixels = std::is_same_v<T, float>;

  int64_t stretches() const { return (arguments_.classes + kMostLanesClasses<T> - 1) / kMostLanesClasses<T>; }

  // Sums over stretches of classes, then over all of them.
  void find_log_sums() {
    const at::Tensor parts = empty({stretches(), labels_.size(0), labels_.size(1), labels_.size(2)});
    const at::Tensor dot_parts = arguments_.grad_sums == nullptr ? at::Tensor() : at::empty_like(parts);
    start<kMostLanes, LossTask::kLogSums, false>(
        {.log_sums = parts.mutable_data_ptr<T>(),
         .grad_dots = dot_parts.defined() ? dot_parts.mutable_data_ptr<T>() : nullptr});
    kept_.push_back(parts.logsumexp(0));
    arguments_.log_sum = kept_.back().template mutable_data_ptr<T>();
    if (!dot_parts.defined()) return;
    kept_.push_back(parts.sub(kept_.back()).exp_().mul_(dot_parts).sum(0));
    arguments_.grad_dot = kept_.back().template mutable_data_ptr<T>();
  }

  const T* keep(const at::Tensor& values) {
    kept_.push_back(values.to(logits_.device(), at::CppTypeToScalarType<T>::value).contiguous());
    return kept_.back().const_data_ptr<T>();
  }
  at::Tensor empty_gradient() const {
    if (!has_padded_rows(arguments_))
      return at::empty(logits_.sizes(), logits_.options().memory_format(logits_.suggest_memory_format()));
    const int64_t pitch = logits_.stride(3), classes = logits_.size(1);
    const at::Tensor rows = empty({logits_.size(0), logits_.size(2), logits_.size(3), pitch}, logits_.scalar_type());
    if (!tiles_) rows.narrow(3, classes, pitch - classes).zero_();  // tiles write them
    return rows.permute({0, 3, 1, 2}).narrow(1, 0, classes);
  }
  unsigned tile_blocks() const { return static_cast<unsigned>(tiles_->cut.count); }

  template <class Work>
  void with_stored_type(Work&& work) const {
    tessera::with_stored_type<T>(arguments_.type, std::forward<Work>(work));
  }
  template <class Work>
  void with_planes(Work&& work) const {
    if constexpr (kThreadPixels) with_stored_type(std::forward<Work>(work));
  }
  template <class Work>
  void with_packs(Work&& work) const {
    if constexpr (kThreadPixels) tessera::with_packs<T>(arguments_.type, *tiles_, std::forward<Work>(work));
  }
  template <int K, LossTask kTask, bool kKnown>
  void start(const CellOutput<T>& to) {
    launch(cell_kernel<T, K, kTask, kKnown>,
           dim3(blocks_for(walks_.count, kCellWarps<T>), blocks_for(arguments_.classes, 32 * K)), 32 * kCellWarps<T>, 0,
           arguments_, walks_, to);
  }

  SoftmaxArguments<T> arguments_;
  at::Tensor logits_, labels_;
  std::vector<at::Tensor> kept_;
  CellWalks walks_{};
  bool planes_ = false;              // pixelwise, columns side by side
  std::optional<LogitTiles> tiles_;  // pixelwise, classes side by side
};

// work(a number of the type that the kernels compute in).
template <class Work>
auto with_compute_type(const at::Tensor& logits, Work&& work) {
  return logits.scalar_type() == at::kDouble ? work(double{}) : work(float{});
}

}  // namespace tessera
