#pragma once
#include "train/window_bands.h"

namespace tessera {

// The class of each pixel of a part of images, (N, rows, W) int16, by the weighted sums of windows' scores. All windows' scores
// are kept in the network's resolution and their sums are never stored, where that takes no more memory than the sums of one
// row of windows; else sums are made in bands. best_class: of sums (N, K, rows, W). Undefined for an empty part.
at::Tensor window_classes(const WindowNetwork& network, const WindowGrid& grid, const WindowPart& part,
                          const WindowConfig& config, const std::function<at::Tensor(const at::Tensor& sums)>& best_class);

}  // namespace tessera
