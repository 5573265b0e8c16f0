#include "infer/checkpoint/model_state.h"

#include <torch/types.h>

#include <map>

#include "core/error.h"

namespace tessera {
namespace {

// Copies `values` onto `targets` by name; what is missing, left over or of another shape is an error.
void copy_by_name(const NamedTensors& targets, const NamedTensors& values, const char* what) {
  const at::NoGradGuard no_grad;
  std::map<std::string, at::Tensor> left(values.begin(), values.end());
  for (const auto& [name, target] : targets) {
    const auto found = left.find(name);
    TSR_CHECK(found != left.end(), "the checkpoint has no {} '{}': it is of another model", what, name);
    TSR_CHECK(found->second.sizes() == target.sizes(),
              "{} '{}' has {} values in the checkpoint and {} in the model: it is of another model", what, name,
              found->second.numel(), target.numel());
    target.copy_(found->second);
    left.erase(found);
  }
  TSR_CHECK(left.empty(), "the checkpoint has a {} '{}' that the model lacks: it is of another model", what,
            left.begin()->first);
}

}  // namespace

NamedTensors model_state(const SegmentationModel& model) {
  NamedTensors all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

void load_model_state(SegmentationModel& model, const NamedTensors& values) {
  copy_by_name(model_state(model), values, "weight");
}

}  // namespace tessera
