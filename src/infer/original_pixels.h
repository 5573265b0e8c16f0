#pragma once
#include <ATen/core/Tensor.h>

#include <optional>

#include "data/sample.h"

namespace tessera {

// The pixels of (..., H, W) that show the original. Throws Error when the transforms cut some of it away.
at::Tensor cut_original(const at::Tensor& x, const Placement& placement);

// Whether the original's pixels are pixels of the processed image. None: the processed image is wanted as it is.
bool keeps_size(const std::optional<Placement>& placement);

}  // namespace tessera
