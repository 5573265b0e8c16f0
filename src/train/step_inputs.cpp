#include "train/step_inputs.h"

#include <ATen/Functions.h>

#include "loss/pixel_scores.h"
#include "tensor/step_context.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// Valid convolutions predict the centre only: the labels around it have no prediction and count nowhere.
at::Tensor predicted_part(const SegmentationModel& model, const at::Tensor& labels) {
  const int64_t height = model.covered(labels.size(1)), width = model.covered(labels.size(2));
  return labels.narrow(1, (labels.size(1) - height) / 2, height).narrow(2, (labels.size(2) - width) / 2, width);
}

}  // namespace

StepInputs::StepInputs(const Batch& loaded, int64_t step_, uint64_t seed, const SegmentationModel& model, int label_end,
                       at::Device device, const std::vector<int64_t>& stand_ins, const std::optional<Shrink>& shrink)
    : step(step_),
      batch(shrink ? shrunk(loaded, *shrink, device) : loaded, device),
      sample_keys(upload(tessera::sample_keys(seed, step, loaded.draws), device)) {
  if (loaded.labels.is_cpu()) check_label_range(loaded.labels, label_end);  // all there are, also those of partners in MixUp
  targets.labels = predicted_part(model, batch.labels());
  if (batch.other_labels().defined()) {
    targets.other = predicted_part(model, batch.other_labels());
    targets.mix_weight = batch.mix_weight();
  }
  for (at::Tensor* labels : {&targets.labels, &targets.other}) {
    if (!labels->defined() || stand_ins.empty()) continue;
    *labels = labels->clone();
    for (const int64_t stand_in : stand_ins) (*labels)[stand_in].fill_(kIgnoreLabel);
  }
}

}  // namespace tessera
