#pragma once
#include "nn/model.h"
#include "weights/formats/safetensors.h"

namespace tessera {

// Parameters and buffers by name; the tensors are the model's own.
NamedTensors model_state(const SegmentationModel& model);

// Copies values into the model's tensors, in place. Every name and shape must match, both ways. Throws Error.
void load_model_state(SegmentationModel& model, const NamedTensors& values);

}  // namespace tessera
