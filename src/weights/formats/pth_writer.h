#pragma once
#include "weights/formats/safetensors.h"

namespace tessera {

// The content of a .pth file as torch.save writes it: an OrderedDict of contiguous CPU tensors, which opens with
// torch.load(weights_only=True). Tensors are stored one by one, even where they share memory here.
std::vector<uint8_t> encode_pth(const NamedTensors& tensors);

}  // namespace tessera
