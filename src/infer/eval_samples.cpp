#include "infer/eval_samples.h"

#include <algorithm>
#include <numeric>

#include "data/transforms/make_pipeline.h"

namespace tessera {

EvalSamples::EvalSamples(const Experiment& experiment, DatasetPtr dataset, Split transforms)
    : dataset_(std::move(dataset)),
      pipeline_(make_pipeline(experiment.data, transforms)),
      in_shards_(!dataset_->shards().starts.empty()),
      at_original_(experiment.eval.at == EvalSize::kOriginal),
      seed_(static_cast<uint64_t>(experiment.train.seed)) {}

// Samples are read in their order, and so are the shards that they may lie in.
void EvalSamples::ask_ahead(int64_t index) const {
  constexpr int64_t kStretch = 64;
  if (!in_shards_ || index % kStretch != 0) return;
  std::vector<int64_t> next(static_cast<size_t>(std::min(2 * kStretch, dataset_->size() - index)));
  std::iota(next.begin(), next.end(), index);
  dataset_->will_need(next);
}

EvalSample EvalSamples::load(int64_t index) const {
  ask_ahead(index);
  Sample sample = dataset_->get(index);
  LabelMap labels;
  const auto take_labels = [&] {
    labels = std::move(sample.labels.value());
    sample.labels.reset();
  };
  if (at_original_) take_labels();
  // Validation transforms are fixed: epoch 0 whenever it is asked.
  run_pipeline(pipeline_, sample, seed_, 0, static_cast<uint64_t>(index));
  if (!at_original_) take_labels();
  const std::string id = sample.id;
  return {std::move(sample), {index, id, std::move(labels)}};
}

}  // namespace tessera
