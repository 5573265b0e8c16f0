#pragma once
#include "nn/model.h"
#include "weights/maps/match.h"

namespace tessera {

// Weights (.pth, safetensors, .npz; of torchvision, timm, mmsegmentation, smp, Segmenter, or our own) into the model that
// `config` describes. `config.pretrained` is a file, a run or one of its checkpoints, a URL, or a name of `tessera models
// pretrained`; the latter two are fetched if the cache lacks them. The head is left fresh where its classes differ; a ViT's
// position embeddings are resized to its image size, as config says. Throws Error when the file has nothing for a part outside
// the head, unless `config.allow_missing`; the model is then as it was.
MatchReport load_pretrained(SegmentationModel& model, const ModelConfig& config);

}  // namespace tessera
