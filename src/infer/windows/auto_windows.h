#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "config/train_config.h"
#include "config/transform_config.h"

namespace tessera {

// Note [Huge images]
// eval.window.size=auto, the default, predicts an image whole, as it always was, up to 2048 x 2048 pixels or 16 training crops,
// whichever is more: ADE20K at a short side of 512, Cityscapes and the largest images of dsb2018 are far below that whatever
// the crop. Beyond it a whole image needs gigabytes of activations (some 1 KB a pixel for a U-Net of 32 channels) and shows the
// network far more context than it was trained on; it is cut into windows of the crop's size. eval.scales count: the largest
// view decides.

// The size that training samples have after these transforms; 512 x 512 where they do not say.
Size training_crop(const std::vector<TransformConfig>& transforms);

// The settings with which images of this size are predicted: eval.window.size is no longer automatic. On the CPU passes of
// automatic windows are kept to 512 x 512 pixels where that is more than one window: a CPU gains nothing from more, and memory
// is what windows are for.
EvalConfig with_windows_for(EvalConfig eval, Size crop, at::Device device, int64_t height, int64_t width);

}  // namespace tessera
