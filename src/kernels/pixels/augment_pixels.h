#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/pixels/pixel_color.h"
#include "kernels/pixels/pixel_mix.h"

namespace tessera {

// Does what normalize_pixels does and, in the same pass, photometric distortion, MixUp and CutMix.
//
// images: (R, H, W, C), as normalize_pixels takes them. mixes: (N, 7) float64, a PixelMix for each result; colors: (R, 5)
// float32, a PixelColor for each image, or undefined. Both on the images' device. A pixel's colours change first, then it is
// normalised, then mixed: result i is image mixes[i].own with the weight own_weight and mixes[i].partner with the rest; in the
// box the partner alone. Result (N, C, H, W) of type `type`, stored channels-last.
at::Tensor augment_pixels(const at::Tensor& images, const at::Tensor& mixes, const at::Tensor& colors, double max_value,
                          const std::vector<double>& mean, const std::vector<double>& std, at::ScalarType type);

// Rows as those tables.
at::Tensor table_of(const std::vector<PixelMix>& rows);
at::Tensor table_of(const std::vector<PixelColor>& rows);

}  // namespace tessera
