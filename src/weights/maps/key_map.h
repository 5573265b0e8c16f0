#pragma once
#include <string>
#include <vector>

#include "weights/formats/safetensors.h"

namespace tessera {

struct MappedKeys {
  std::string family;  // what the file was taken for, e.g. "timm ViT"
  NamedTensors tensors;
  std::vector<std::string> dropped;  // keys of the file left out on purpose: classification heads, a loss's own weights
};

// Recognises whose names a file carries and turns them into ours. Wrappers (module., model., ...) are taken off; the weights
// of a bare backbone go under the prefix that fits `model_names` best.
MappedKeys map_keys(NamedTensors file, const std::vector<std::string>& model_names);

enum class WeightLayout { kTessera, kTorchvision, kTimm, kMmseg, kSmp, kSegmenter };

// The way back: our tensors under a library's names, such that its module loads them with strict=True. Throws Error if the
// library has no such model. `dropped`: what it has no place for (timm: everything but the backbone).
MappedKeys to_layout(const NamedTensors& ours, WeightLayout layout);

}  // namespace tessera
