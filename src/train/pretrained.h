#pragma once
#include <filesystem>

#include "nn/model.h"
#include "weights/match.h"

namespace tessera {

// Weights of a file (.pth, safetensors, .npz; of torchvision, timm, mmsegmentation, smp, Segmenter, or our own) into a model.
// The head is left fresh where its classes differ. Throws Error when the file has nothing for a part outside the head, unless
// `allow_missing`; the model is then as it was.
MatchReport load_pretrained(SegmentationModel& model, const std::filesystem::path& file, bool allow_missing);

}  // namespace tessera
