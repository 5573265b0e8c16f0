#pragma once
#include <cstdint>

#include "data/dataset.h"
#include "data/loading/stage_times.h"
#include "data/transforms/transform.h"

namespace tessera {

// What names the random numbers of a sample: see run_pipeline.
struct SampleDraw {
  uint64_t seed = 0, epoch = 0, draw = 0;
};

// Sample `index` after the pipeline: what Dataset::get and run_pipeline make of it, bit for bit. Where the pipeline begins with
// movements and the source hands out files, only what is needed of them is decoded and computed: Note [Planned geometry].
// Throws BadSample as Dataset::get does, for the same samples. Any number of threads.
Sample transformed_sample(const Dataset& dataset, int64_t index, const Pipeline& pipeline, const SampleDraw& draw,
                          StageTimes& times);

}  // namespace tessera
