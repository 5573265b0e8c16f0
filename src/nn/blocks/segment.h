#pragma once
#include <torch/nn/module.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/blocks/checkpointed.h"

namespace tessera {

// Note [Segments]
// A model is a list of segments that run one after another. What a segment leaves for those behind it is the state: an ordered
// list of tensors and nothing else, with skips, the logits of an auxiliary head, and sizes that are needed again
// (size_tensor). So a model can be cut between any two segments. Activation checkpointing keeps the inputs of a segment and
// runs it again; freezing, layer-wise learning rates and summaries go by segment; and ranks could each run a stretch of the
// list and send the state on, as a pipeline does.
//
// A model's state begins as {image} and ends as ModelOutput::of reads it. All its tensors are defined, and none is in it twice.
// Each parameter is used by exactly one segment; one that a later segment adds for speed (the bias of a transformer's branch)
// travels in the state, and gets its gradient from there.
struct Segment {
  std::string name = {};                // where it is the path of a module, that module is its only part
  std::vector<std::string> parts = {};  // paths of the modules and parameters that are its own
  TensorsFunction compute = {};         // from its part of the state to what stands there for the next segment
  size_t carried = 0;                   // how many tensors at the front of the state are not for it: they stay where they are
  bool checkpoint = false;              // in a model: keep only the inputs for the backward pass, see checkpointed
  int64_t depth = 0;                    // for layer-wise learning rates: 0 is nearest the image

  Tensors parameters = {}, buffers = {};  // of its parts; set by bind_segments

  Tensors run(Tensors state) const;
};

Tensors run_segments(std::span<const Segment> segments, Tensors state);

// Finds the parameters and buffers of each segment in `model`. Throws Error where a parameter belongs to none or to several,
// where two segments have one name, or where a segment has the name of a module that is not its only part.
void bind_segments(std::vector<Segment>& segments, const torch::nn::Module& model);

// A segment that is one layer, from one tensor to one tensor. `path`: the layer's place in the model.
template <class LayerPointer>
Segment layer_segment(std::string path, LayerPointer layer) {
  return {.name = path, .parts = {path}, .compute = [layer](const Tensors& in) mutable -> Tensors {
            return {layer->forward(in[0])};
          }};
}

// The height and width of images (N, C, H, W) as a tensor for the state: (0, 1, H, W), which holds no values.
at::Tensor size_tensor(const at::Tensor& images);

}  // namespace tessera
