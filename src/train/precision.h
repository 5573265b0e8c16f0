#pragma once
#include <ATen/autocast_mode.h>
#include <c10/core/Device.h>

#include "config/train_config.h"

namespace tessera {

// The type parameters are kept in: float64 for fp64, else float32.
at::ScalarType parameter_type(Precision precision);
// The type images enter the network in: what its first convolution or product would turn them into anyway.
at::ScalarType input_type(Precision precision);

// Inside its scope convolutions and matrix products compute in the precision's type (bf16, fp16), as torch.autocast does.
class AutocastScope {
 public:
  AutocastScope(Precision precision, c10::Device device);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  bool active_;
  c10::DeviceType type_;
};

// In its scope weights that autocast has turned into the precision's type stay so from one AutocastScope to the next: for many
// forward passes with weights that do not change. Of the thread that made it.
class KeptCasts {
 public:
  KeptCasts();
  ~KeptCasts();
  KeptCasts(const KeptCasts&) = delete;
  KeptCasts& operator=(const KeptCasts&) = delete;
};

// Dynamic loss scaling for fp16, with the numbers of torch.amp.GradScaler. For every other precision the scale stays 1.
class LossScaler {
 public:
  explicit LossScaler(Precision precision) : enabled_(precision == Precision::kFp16), scale_(enabled_ ? 65536.0 : 1.0) {}
  bool enabled() const { return enabled_; }
  double scale() const { return scale_; }
  int64_t good_steps() const { return good_steps_; }
  void restore(double scale, int64_t good_steps);
  // After a step: halves the scale when gradients were not finite, doubles it after 2000 good steps.
  void update(bool finite);

 private:
  bool enabled_;
  double scale_;
  int64_t good_steps_ = 0;
};

}  // namespace tessera
