#pragma once
#include "config/experiment.h"
#include "nn/model.h"
#include "weights/maps/match.h"

namespace tessera {

struct PretrainedUse {
  std::vector<std::string> classes{};           // the data's: a run's head of as many, but other ones, is warned of
  EvalWeights weights = EvalWeights::kAverage;  // of a run that has both
};

// Weights (.pth, safetensors, .npz; of torchvision, timm, mmsegmentation, smp, Segmenter, or our own) into the model that
// `config` describes. `config.pretrained` is a file, a run or one of its checkpoints, a URL, or a name of `tessera models
// pretrained`; the latter two are fetched if the cache lacks them. Behind a file may stand which of several models in it is
// meant: FILE#model_ema. The head is left fresh where its classes differ; a ViT's
// position embeddings are resized to its image size, as config says. Throws Error when the file has nothing for a part outside
// the head, unless `config.allow_missing`; the model is then as it was.
MatchReport load_pretrained(SegmentationModel& model, const ModelConfig& config, const PretrainedUse& use = {});

}  // namespace tessera
