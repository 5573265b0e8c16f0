#include "nn/backbones/backbone.h"

#include <algorithm>

namespace tessera {

size_t FeatureNeeds::count() const {
  return (size ? 1 : 0) + (stem ? 1 : 0) + static_cast<size_t>(std::count(stages.begin(), stages.end(), true));
}

FeatureNeeds FeatureNeeds::operator|(const FeatureNeeds& other) const {
  FeatureNeeds both{.size = size || other.size, .stem = stem || other.stem};
  for (size_t i = 0; i < kStages; ++i) both.stages[i] = stages[i] || other.stages[i];
  return both;
}

Tensors FeatureNeeds::pack(const Features& features) const {
  Tensors state;
  if (size) state.push_back(features.size);
  if (stem) state.push_back(features.stem);
  for (size_t i = 0; i < kStages; ++i) {
    if (stages[i]) state.push_back(features.stages[i]);
  }
  return state;
}

Features FeatureNeeds::unpack(const Tensors& state) const {
  Features features;
  auto next = state.begin();
  if (size) features.size = *next++;
  if (stem) features.stem = *next++;
  for (size_t i = 0; i < kStages; ++i) {
    if (stages[i]) features.stages[i] = *next++;
  }
  return features;
}

Features Backbone::forward(const at::Tensor& x) {
  const FeatureNeeds all{.size = true, .stem = stem_channels() > 0, .stages = {true, true, true, true}};
  return all.unpack(run_segments(segments("", all), {x}));
}

at::Tensor Backbone::cut_back(const at::Tensor& logits, const at::Tensor& /*size*/) const {
  return logits;
}

}  // namespace tessera
