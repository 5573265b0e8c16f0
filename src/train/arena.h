#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "dist/gradient_reducer.h"
#include "nn/model.h"
#include "optim/param_ranges.h"

namespace tessera {

// Note [Arena]
// All parameters of a model lie in one flat buffer, all gradients in a second, all buffers (batch-norm statistics) in a third;
// the module's tensors are views into them. So the optimizer is one loop, a gradient bucket is a slice, a checkpoint is a few
// large writes, and undoing a half-done step is one copy. Each tensor starts on a 64-byte boundary; the gaps stay zero.

class Arena {
 public:
  // Moves the model to `device` and `type` and re-points its trainable parameters, gradients and buffers into the arena.
  // channels_last: 4-d weights are stored in that order, as the convolutions want them.
  Arena(SegmentationModel& model, at::Device device, at::ScalarType type, bool channels_last);

  at::Tensor& params() { return params_; }
  at::Tensor& grads() { return grads_; }
  at::Tensor& buffers() { return buffers_; }
  const std::vector<ParamSpan>& spans() const { return spans_; }
  std::vector<ParamSpan>& spans() { return spans_; }
  // The model's parameters and buffers become views of these, which have the lengths of the arena's own; gradients stay.
  void point_to(const at::Tensor& params, const at::Tensor& buffers);
  std::vector<GradientPlace> places() const;  // the parameters themselves, as the exchange of gradients wants them

 private:
  at::Tensor params_, grads_, buffers_;
  std::vector<ParamSpan> spans_;
  std::vector<at::Tensor> parameters_;     // of the spans
  std::vector<at::Tensor> model_buffers_;  // one behind another, see `aligned`
};

}  // namespace tessera
