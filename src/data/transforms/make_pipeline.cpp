#include "data/transforms/make_pipeline.h"

#include "data/sample.h"
#include "data/transforms/blur.h"
#include "data/transforms/cutout.h"
#include "data/transforms/elastic.h"
#include "data/transforms/flip.h"
#include "data/transforms/gamma.h"
#include "data/transforms/grayscale.h"
#include "data/transforms/grid_distortion.h"
#include "data/transforms/noise.h"
#include "data/transforms/pad.h"
#include "data/transforms/photometric.h"
#include "data/transforms/random_crop.h"
#include "data/transforms/rescale.h"
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
TransformPtr make(const GammaConfig& config, const Fill&) {
  return std::make_unique<Gamma>(config);
}
TransformPtr make(const NoiseConfig& config, const Fill&) {
  return std::make_unique<Noise>(config);
}
TransformPtr make(const ElasticConfig& config, const Fill& fill) {
  return std::make_unique<Elastic>(config, fill);
}
TransformPtr make(const GridDistortionConfig& config, const Fill& fill) {
  return std::make_unique<GridDistortion>(config, fill);
}
TransformPtr make(const CutoutConfig& config, const Fill& fill) {
  return std::make_unique<Cutout>(config, fill);
}
TransformPtr make(const GrayscaleConfig& config, const Fill&) {
  return std::make_unique<Grayscale>(config);
}

// The photometric transform after which pixels are at most moved, or the end of the list: colours may as well change last.
size_t last_colors(const std::vector<TransformConfig>& configs) {
  for (size_t k = configs.size(); k-- > 0;) {
    if (std::holds_alternative<PhotometricConfig>(configs[k])) return k;
    if (!std::holds_alternative<FlipConfig>(configs[k])) break;
  }
  return configs.size();
}

}  // namespace

Pipeline make_pipeline(const std::vector<TransformConfig>& configs, const Fill& fill, ColorPlace colors) {
  Pipeline pipeline;
  const size_t on_device = colors == ColorPlace::kDevice ? last_colors(configs) : configs.size();
  for (size_t k = 0; k < configs.size(); ++k) {
    if (k == on_device) {
      pipeline.push_back(std::make_unique<Photometric>(std::get<PhotometricConfig>(configs[k]), ColorPlace::kDevice));
    } else {
      pipeline.push_back(std::visit([&](const auto& chosen) { return make(chosen, fill); }, configs[k]));
    }
  }
  return pipeline;
}

Pipeline make_pipeline(const DataConfig& config, Split split, ColorPlace colors) {
  const NormalizeConfig& normalize = config.normalize;
  Pipeline pipeline =
      make_pipeline(transforms_of(config, split), acts_per_pixel(normalize.mode) ? normalize.mean : Fill{}, colors);
  // First, so that padding, brightness and all that follows speak of shares of the range that was chosen.
  if (normalize.mode == NormalizeMode::kRange) {
    pipeline.insert(pipeline.begin(), std::make_unique<Rescale>(normalize.low_value, normalize.high_value));
  }
  return pipeline;
}

void run_pipeline(const Pipeline& pipeline, Sample& sample, uint64_t seed, uint64_t epoch, uint64_t draw, size_t first) {
  if (sample.placement.original == Size{}) sample.placement = whole_image(sample.image.size());
  const Rng rng(seed, Stream::kAugment, epoch, draw);
  for (size_t k = first; k < pipeline.size(); ++k) pipeline[k]->apply(sample, rng.fork(static_cast<uint32_t>(k)));
}

}  // namespace tessera
