#pragma once
#include <cstdint>
#include <vector>

#include "config/data_config.h"
#include "data/datasets/split.h"
#include "data/transforms/fill.h"
#include "data/transforms/photometric.h"
#include "data/transforms/transform.h"

namespace tessera {

// The transforms a config lists, in its order. Whatever pads, or rotates corners in, gives images `fill` and labels
// kIgnoreLabel. With colours on the device a photometric transform that is last, but for flips, only draws its numbers: they
// come out as Sample::color.
Pipeline make_pipeline(const std::vector<TransformConfig>& configs, const Fill& fill = {},
                       ColorPlace colors = ColorPlace::kLoader);

// The transforms of a split, after the Rescale of mode range. With normalize.mode fixed and range the fill is the mean, which
// normalisation turns into 0 (but for the rounding of bytes); the other modes find their zero image by image, and the fill is
// 0.
Pipeline make_pipeline(const DataConfig& config, Split split, ColorPlace colors = ColorPlace::kLoader);

// Applies the pipeline to a sample. What happens is a function of (seed, epoch, draw): the sample's index, or another number
// where it comes again in an epoch (Pick::draw). Transform k draws from its own sequence, so neither threads nor ranks nor the
// other transforms change what it does. first: those before it were applied already.
void run_pipeline(const Pipeline& pipeline, Sample& sample, uint64_t seed, uint64_t epoch, uint64_t draw, size_t first = 0);

}  // namespace tessera
