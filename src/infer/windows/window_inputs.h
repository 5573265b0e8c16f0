#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/data_config.h"
#include "infer/windows/window_passes.h"

namespace tessera {

// How pixels become the network's input: see normalize_images.
struct InputFormat {
  NormalizeConfig normalize;
  float max_value = 255;  // of the images
  at::ScalarType type = at::kFloat;
};

// Windows of images at their own scale, cut out and normalised for the network. A fixed mean, std and range act per pixel, so
// windows are normalised one by one: a whole image as float takes four times its bytes. Other statistics are those of a whole
// image, which is normalised before it is cut.
class WindowInputs {
 public:
  // images: (N, H, W, C). All windows have the grid's size.
  WindowInputs(const at::Tensor& images, const WindowGrid& grid, InputFormat format, at::Device device);

  // (B, C, h, w) on the device.
  at::Tensor of(const std::vector<WindowPlace>& places) const;

 private:
  WindowGrid grid_;
  InputFormat format_;
  at::Device device_;
  bool by_window_;     // normalised one by one
  at::Tensor pixels_;  // (N, H, W, C), on the device unless they are too many
};

}  // namespace tessera
