#include "nn/model.h"

#include <torch/types.h>

#include <algorithm>
#include <iterator>

#include "core/error.h"
#include "core/module_path.h"
#include "core/suggest.h"
#include "kernels/common/fused.h"
#include "nn/init/init_layers.h"

namespace tessera {

at::Tensor ModelOutput::logits() const {
  const auto* const values = std::get_if<at::Tensor>(&scores);
  TSR_CHECK(values != nullptr, "expected logits, got the classifier that makes them: it was left to the loss");
  return *values;
}

ModelOutput ModelOutput::of(const Tensors& state) {
  TSR_CHECK(!state.empty(), "expected logits, or what makes them, behind the last segment of a model, got nothing");
  const bool fused = state.size() >= 3 && state[2].dim() == 1;  // a bias; logits have four dimensions
  ModelOutput output{.scores = state[0]};
  if (fused) output.scores = PixelClassifier{.features = state[0], .weight = state[1], .bias = state[2]};
  output.aux.assign(state.begin() + (fused ? 3 : 1), state.end());
  return output;
}

ModelOutput SegmentationModel::forward(const at::Tensor& x) {
  return ModelOutput::of(run_segments(segments(), {x}));
}

const std::vector<Segment>& SegmentationModel::segments() {
  std::call_once(segments_made_, [this] {
    segments_ = make_segments();
    bind_segments(segments_, *this);
  });
  return segments_;
}

bool SegmentationModel::checkpoint_all() {
  segments();
  checkpoints_all_ = true;
  bool changed = false;
  for (Segment& segment : segments_) {
    if (segment.parameters.empty()) continue;  // computed as it is
    changed = changed || !segment.checkpoint;
    segment.checkpoint = true;
  }
  return changed;
}

int64_t SegmentationModel::num_depths() {
  int64_t deepest = 0;
  for (const Segment& segment : segments()) deepest = std::max(deepest, segment.depth);
  return deepest + 1;
}

int64_t SegmentationModel::depth_of(const std::string& parameter) {
  for (const Segment& segment : segments()) {
    for (const std::string& part : segment.parts) {
      if (is_part_of(parameter, part)) return segment.depth;
    }
  }
  fail("the model has no parameter '{}'", parameter);
}

void SegmentationModel::init(uint64_t seed) {
  init_layers(*this, LayerInit::kTorch, seed);
}

SegmentationModel::Part SegmentationModel::find_part(const std::string& part) {
  std::vector<std::string> names, paths{part};
  for (const Segment& segment : segments()) {
    names.push_back(segment.name);
    if (segment.name == part) paths = segment.parts;
  }
  const auto is_inside = [&](const std::string& name) {
    return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) { return is_part_of(name, path); });
  };
  Part found;
  for (const auto& item : named_parameters()) {
    if (is_inside(item.key())) found.parameters.push_back(item.value());
  }
  for (const auto& item : named_modules("", /*include_self=*/false)) {
    names.push_back(item.key());
    if (std::find(paths.begin(), paths.end(), item.key()) != paths.end()) found.modules.push_back(item.value());
  }
  if (found.parameters.empty())
    fail_usage("model.freeze: the model has no part '{}' with weights{}; `tessera models show` prints its parts", part,
               did_you_mean(part, names));
  return found;
}

std::vector<at::Tensor> SegmentationModel::parameters_of(const std::string& part) {
  return find_part(part).parameters;
}

void SegmentationModel::freeze(const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  for (const std::string& part : parts) {
    Part found = find_part(part);
    for (at::Tensor& value : found.parameters) value.requires_grad_(false);
    std::move(found.modules.begin(), found.modules.end(), std::back_inserter(frozen_));
  }
  check_trains();
  train(is_training());
}

void SegmentationModel::rest(const std::vector<std::string>& parts) {
  for (at::Tensor& value : resting_parameters_) value.requires_grad_(true);
  resting_parameters_.clear();
  resting_.clear();
  for (const std::string& part : parts) {
    Part found = find_part(part);
    for (at::Tensor& value : found.parameters) {
      if (value.requires_grad()) resting_parameters_.push_back(value.requires_grad_(false));
    }
    std::move(found.modules.begin(), found.modules.end(), std::back_inserter(resting_));
  }
  check_trains();
  train(is_training());
}

void SegmentationModel::check_trains() const {
  const auto all = parameters();
  if (std::none_of(all.begin(), all.end(), [](const at::Tensor& value) { return value.requires_grad(); }))
    fail_usage("model.freeze leaves nothing to train; freeze fewer parts");
}

void SegmentationModel::train(bool on) {
  torch::nn::Module::train(on);
  for (const auto* parts : {&frozen_, &resting_}) {
    for (const auto& part : *parts) part->eval();
  }
}

bool SegmentationModel::fuses_classifier(const PixelClassifier& classifier) const {
  const at::Tensor& x = classifier.features;
  return use_fused_classifier_ && is_training() && at::GradMode::is_enabled() && x.is_cuda() && use_fused(x) &&
         classifier.fits();
}

int64_t count_parameters(const torch::nn::Module& model) {
  int64_t total = 0;
  for (const at::Tensor& value : model.parameters()) total += value.numel();
  return total;
}

void use_channels_last(SegmentationModel& model) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& value : model.parameters()) {
    if (value.dim() == 4) value.set_data(value.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

}  // namespace tessera
