#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/data_config.h"
#include "data/batch/image_statistics.h"
#include "infer/windows/window_passes.h"

namespace tessera {

// How pixels become the network's input: see normalize_images.
struct InputFormat {
  NormalizeConfig normalize;
  float max_value = 255;  // of the images
  at::ScalarType type = at::kFloat;
  int64_t channels = 3;  // that the network takes
};

// Windows of images at their own scale, cut out and normalised for the network one by one: a whole image as float takes four
// times its bytes. Statistics that some modes need are those of the whole image, found before it is cut.
class WindowInputs {
 public:
  // images: (N, H, W, C), perhaps as stored (stored_pixels.h). All windows have the grid's size.
  WindowInputs(const at::Tensor& images, const WindowGrid& grid, InputFormat format, at::Device device);

  // (B, C, h, w) on the device.
  at::Tensor of(const std::vector<WindowPlace>& places) const;

 private:
  WindowGrid grid_;
  InputFormat format_;
  at::Device device_;
  at::Tensor pixels_;  // (N, H, W, C), on the device unless they are too many
  ImageStatistics statistics_;
};

}  // namespace tessera
