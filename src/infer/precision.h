#pragma once
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "config/train_config.h"
#include "kernels/update/loss_scaling.h"

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
// forward passes with weights that do not change. It counts for the thread that made it.
class KeptCasts {
 public:
  KeptCasts();
  ~KeptCasts();
  KeptCasts(const KeptCasts&) = delete;
  KeptCasts& operator=(const KeptCasts&) = delete;
};

// Which steps may change the weights, and for fp16 the scale of the loss: see Note [Loss scaling on the device].
class LossScaler {
 public:
  LossScaler(Precision precision, at::Device device);
  bool enabled() const { return enabled_; }               // fp16; else the scale is 1 and stays so
  const at::Tensor& numbers() const { return numbers_; }  // those of LossScaling on the device
  at::Tensor scaled(const at::Tensor& loss) const;        // the same loss unless enabled
  LossScaling read() const;                               // waits for the device
  void restore(const LossScaling& scaling);
  void release();  // a step that was held is left out: those after it count again; see Note [Held steps]

 private:
  bool enabled_;
  at::Tensor numbers_;
};

}  // namespace tessera
