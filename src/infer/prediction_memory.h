#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>

#include "config/train_config.h"

namespace tessera {

// What a network needs on the CPU for each pixel it is given, found by trying small images. Systems lend more memory than they
// have and end the process that uses it, so what cannot fit must be known before it is tried.
struct NetworkMemory {
  double bytes_per_pixel = 0;  // at the peak of a forward pass, input left out
  int64_t channels = 0;        // of the input
  int64_t classes = 0;         // channels of the scores
  int64_t element = 4;         // bytes of a number in an image that is scaled

  // network: scores of (1, channels, side, side). Nothing where memory is not counted (see cpu_memory_of).
  static std::optional<NetworkMemory> measure(const std::function<at::Tensor(int64_t side)>& network, int64_t channels,
                                              int64_t least_side, int64_t element);
};

// Bytes for one step of predicting `count` images of this size: the largest forward pass and what lies beside it.
struct PredictionBytes {
  double network = 0;  // less with fewer images or smaller windows
  double beside = 0;   // scaled images and scores of whole views: nothing but smaller eval.scales makes it less
  double scale = 1;    // of the view with the most of both
  double all() const { return network + beside; }
};
PredictionBytes prediction_bytes(const NetworkMemory& memory, const EvalConfig& eval, int64_t count, int64_t height,
                                 int64_t width);

}  // namespace tessera
