#include "train/working_weights.h"

#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <algorithm>
#include <set>

#include "infer/precision.h"
#include "kernels/update/collect_gradients.h"
#include "nn/blocks/product_parameters.h"

namespace tessera {
namespace {

// Weights that autocast would turn: those of convolutions and linear layers, and what modules name, which nothing else reads.
std::set<const at::TensorImpl*> product_weights(const SegmentationModel& model) {
  std::set<const at::TensorImpl*> found;
  const auto add = [&](const auto* layer) {
    if (layer != nullptr) found.insert(layer->weight.unsafeGetTensorImpl());
  };
  for (const auto& module : model.modules(/*include_self=*/false)) {
    add(dynamic_cast<const torch::nn::Conv2dImpl*>(module.get()));
    add(dynamic_cast<const torch::nn::ConvTranspose2dImpl*>(module.get()));
    add(dynamic_cast<const torch::nn::LinearImpl*>(module.get()));
    if (const auto* named = dynamic_cast<const ProductParameters*>(module.get())) {
      for (const at::Tensor& parameter : named->product_parameters()) found.insert(parameter.unsafeGetTensorImpl());
    }
  }
  return found;
}

}  // namespace

WorkingWeights::WorkingWeights(SegmentationModel& model, Arena& arena, Precision precision) : arena_(arena) {
  const at::ScalarType type = input_type(precision);
  const bool copies = type != arena.params().scalar_type();
  if (copies) copies_ = at::empty_like(arena.params(), type);
  const auto weights = product_weights(model);
  for (const GradientPlace& place : arena.places()) {
    const at::Tensor home = place.parameter.variable_data();
    at::Tensor copy;
    if (copies && weights.contains(place.parameter.unsafeGetTensorImpl()))
      copy = copies_.as_strided(home.sizes(), home.strides(), place.offset);
    places_.push_back({place.parameter, home, place.parameter.grad(), copy, place.offset, place.numel});
  }
}

WorkingWeights::Scope::Scope(WorkingWeights& weights) : weights_(weights) {
  const at::NoGradGuard no_grad;
  const at::Tensor& params = weights_.arena_.params();
  if (weights_.copies_.defined() && params._version() != weights_.written_version_) weights_.copies_.copy_(params);
  for (Place& place : weights_.places_) {
    place.parameter.mutable_grad().reset();
    if (place.copy.defined() && weights_.use_copies_) place.parameter.set_data(place.copy);
  }
}

WorkingWeights::Scope::~Scope() {
  for (Place& place : weights_.places_) {
    place.parameter.mutable_grad().reset();
    if (place.copy.defined()) place.parameter.set_data(place.home);
    place.parameter.mutable_grad() = place.grad;
  }
}

void WorkingWeights::copies_written() {
  written_version_ = arena_.params()._version();
}

void WorkingWeights::follow() {
  if (copies_.defined()) copies_.copy_(arena_.params());
  copies_written();
}

void WorkingWeights::forget() {
  for (Place& place : places_) place.parameter.mutable_grad().reset();
}

void WorkingWeights::collect_only_pass() {
  const auto reached = [](const Place& place) { return place.parameter.grad().defined(); };
  if (!std::all_of(places_.begin(), places_.end(), reached)) arena_.grads().zero_();
  collect(/*add=*/false);
}

void WorkingWeights::collect(int64_t begin, int64_t end, bool add) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> gradients;
  std::vector<int64_t> offsets;
  for (Place& place : places_) {
    at::Tensor& gradient = place.parameter.mutable_grad();
    if (place.offset < begin || place.offset + place.numel > end || !gradient.defined()) continue;
    // Autograd keeps to the parameter's layout; where a length is 1 its strides may be others that mean the same.
    gradients.push_back(
        gradient.strides() == place.home.strides() ? gradient : gradient.as_strided(place.home.sizes(), place.home.strides()));
    offsets.push_back(place.offset);
    gradient.reset();
  }
  if (!gradients.empty()) collect_gradients(arena_.grads(), gradients, offsets, add);
}

}  // namespace tessera
