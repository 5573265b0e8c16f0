#pragma once
#include <ATen/core/Tensor.h>

#include "config/experiment.h"
#include "data/sample.h"
#include "nn/model.h"

namespace tessera {

// Images to class scores, the same way in evaluation, prediction and the report: normalise, whole image or sliding windows,
// scales and mirror images averaged, back to the image's own size.
class Predictor {
 public:
  // The model must be on `device` already. Copies what it needs of the experiment.
  Predictor(const Experiment& experiment, ModelPtr model, at::Device device);

  // images: (N, H, W, C) as they leave the validation transforms. Result: (N, K, H, W) float scores (logits, or probabilities
  // when several views are averaged), K = 1 for a binary model.
  at::Tensor scores(const at::Tensor& images, float max_value) const;

  // The class of each pixel, at the size of the original image if `placement` says where that lies: (H, W) int16.
  // scores: (K, h, w) of one image.
  at::Tensor classes(const at::Tensor& scores, const Placement* placement) const;

  // (K or 2, H, W) float probabilities at the original size.
  at::Tensor probabilities(const at::Tensor& scores, const Placement* placement) const;

 private:
  at::Tensor view_scores(const at::Tensor& x) const;  // (N, C, H, W) normalised -> (N, K, H, W)
  at::Tensor network(const at::Tensor& x) const;      // whole frame, any size
  at::Tensor sliding_window(const at::Tensor& x) const;
  // The part of an image's scores that shows the original, (1, K, h, w), and the original's size.
  struct Part {
    at::Tensor scores;
    int64_t height, width;
  };
  Part original_part(const at::Tensor& scores, const Placement* placement) const;
  bool averages_views() const;

  EvalConfig eval_;
  NormalizeConfig normalize_;
  Precision precision_;
  bool channels_last_;
  ModelPtr model_;
  at::Device device_;
};

}  // namespace tessera
