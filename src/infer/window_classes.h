#pragma once
#include "infer/window_bands.h"

namespace tessera {

// The class of each pixel of the view's part, (N, rows, W) int16, by the weighted sums of windows' scores. All windows' scores
// are kept in the network's resolution and their sums are never stored, where that takes no more memory than the sums of one
// row of windows; else sums are made in bands. best_class: of sums (N, K, rows, W). The view's `take` is set here. Undefined
// for an empty part.
at::Tensor window_classes(WindowView view, const WindowConfig& config, const WindowNetwork& network,
                          const std::function<at::Tensor(const at::Tensor& sums)>& best_class);

}  // namespace tessera
