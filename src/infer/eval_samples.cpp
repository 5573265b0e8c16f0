#include "infer/eval_samples.h"

#include "data/transforms/make_pipeline.h"

namespace tessera {

EvalSamples::EvalSamples(const Experiment& experiment, DatasetPtr dataset, Split transforms)
    : dataset_(std::move(dataset)),
      pipeline_(make_pipeline(experiment.data, transforms)),
      at_original_(experiment.eval.at == EvalSize::kOriginal),
      seed_(static_cast<uint64_t>(experiment.train.seed)) {}

EvalSample EvalSamples::load(int64_t index) const {
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
