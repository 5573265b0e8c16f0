#include "data/transforms/make_pipeline.h"

#include "data/placement.h"
#include "data/transforms/blur.h"
#include "data/transforms/flip.h"
#include "data/transforms/pad.h"
#include "data/transforms/photometric.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/resize.h"
#include "data/transforms/rotate.h"
#include "data/transforms/scale_jitter.h"

namespace tessera {
namespace {

using TransformPtr = std::unique_ptr<const Transform>;

TransformPtr make(const ResizeConfig& config, const Fill& fill) {
  return std::make_unique<Resize>(config, fill);
}
TransformPtr make(const ScaleJitterConfig& config, const Fill&) {
  return std::make_unique<ScaleJitter>(config);
}
TransformPtr make(const RandomCropConfig& config, const Fill& fill) {
  return std::make_unique<RandomCrop>(config, fill);
}
TransformPtr make(const FlipConfig& config, const Fill&) {
  return std::make_unique<Flip>(config);
}
TransformPtr make(const RotateConfig& config, const Fill& fill) {
  return std::make_unique<Rotate>(config, fill);
}
TransformPtr make(const BlurConfig& config, const Fill&) {
  return std::make_unique<Blur>(config);
}
TransformPtr make(const PhotometricConfig& config, const Fill&) {
  return std::make_unique<Photometric>(config);
}
TransformPtr make(const PadConfig& config, const Fill& fill) {
  return std::make_unique<Pad>(config, fill);
}

}  // namespace

Pipeline make_pipeline(const std::vector<TransformConfig>& configs, const Fill& fill) {
  Pipeline pipeline;
  for (const TransformConfig& config : configs) {
    pipeline.push_back(std::visit([&](const auto& chosen) { return make(chosen, fill); }, config));
  }
  return pipeline;
}

Pipeline make_pipeline(const DataConfig& config, Split split) {
  const bool fixed = config.normalize.mode == NormalizeMode::kFixed;
  return make_pipeline(split_of(config, split).transforms, fixed ? config.normalize.mean : Fill{});
}

void run_pipeline(const Pipeline& pipeline, Sample& sample, uint64_t seed, uint64_t epoch, uint64_t index) {
  if (sample.placement.original == Size{}) sample.placement = whole_image(sample.image.size());
  const Rng rng(seed, Stream::kAugment, epoch, index);
  for (size_t k = 0; k < pipeline.size(); ++k) pipeline[k]->apply(sample, rng.fork(static_cast<uint32_t>(k)));
}

}  // namespace tessera
