#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "nn/model.h"

namespace tessera {

// Note [What is counted]
// MACs: multiply-accumulates of convolutions, linear layers, matrix products and attention (Q K^T and P V), as fvcore counts
// and ptflops calls MACs; biases, norms, activations, pooling and resizing are not in it. `elementwise` holds those apart:
// one per value of a bias, activation, pooling, softmax or resize, two per value of a norm. Activations: values written by
// the operations that have MACs. All for one image.
struct LayerSummary {
  std::string path;  // "encoder.blocks.0.attn.qkv"; "" for the model itself
  std::string type;  // "Conv2d"
  int64_t depth = 0;
  std::vector<int64_t> output_shape;  // of the last operation inside; empty when none was seen
  int64_t parameters = 0;             // this and all further numbers: with everything inside
  int64_t macs = 0;
  int64_t elementwise = 0;
  int64_t activations = 0;
};

// These numbers by segment, see Note [Segments].
struct SegmentSummary {
  std::string name;
  int64_t parameters = 0;
  int64_t macs = 0;
  int64_t elementwise = 0;
  int64_t activations = 0;
  int64_t state = 0;  // values that it and those before it leave to the next: what a cut behind it would have to carry
};

struct ModelSummary {
  std::vector<LayerSummary> layers;  // in order of registration, a layer before what is inside it; [0] is the whole model
  std::vector<SegmentSummary> segments;
  const LayerSummary& total() const { return layers.front(); }
};

// Runs one image of zeros through the model (evaluation mode, no gradients; the mode is restored) and watches the operations.
// An operation with parameters belongs to the layer that owns them; one without, such as attention itself or an activation,
// to the innermost container of the parameters used before it.
ModelSummary summarize(SegmentationModel& model, int64_t channels, int64_t height, int64_t width);

}  // namespace tessera
