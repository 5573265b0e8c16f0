#include "nn/summary.h"

#include <c10/util/accumulate.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "nn/op_counter.h"

namespace tessera {
namespace {

// "torch::nn::Conv2dImpl" -> "Conv2d"
std::string short_type(std::string type) {
  if (const size_t colon = type.rfind("::"); colon != std::string::npos) type = type.substr(colon + 2);
  if (type.ends_with("Impl")) type.resize(type.size() - 4);
  return type;
}

std::string parent_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

template <class Summary>
void count(const CountedOp& op, Summary& summary) {
  summary.macs += op.macs;
  summary.elementwise += op.elementwise;
  if (op.macs > 0) summary.activations += c10::multiply_integers(op.output_shape);
}

class Tree {
 public:
  explicit Tree(SegmentationModel& model) {
    for (const auto& item : model.named_modules()) {
      LayerSummary layer;
      layer.path = item.key();
      layer.type = short_type(item.value()->name());
      layer.depth = layer.path.empty() ? 0 : 1 + std::count(layer.path.begin(), layer.path.end(), '.');
      for (const at::Tensor& value : item.value()->parameters()) layer.parameters += value.numel();
      for (const at::Tensor& value : item.value()->parameters(/*recurse=*/false)) {
        owners_.emplace(value.const_data_ptr(), layer.path);
      }
      if (!item.value()->children().empty()) containers_.insert(layer.path);
      index_[layer.path] = layers_.size();
      layers_.push_back(std::move(layer));
    }
  }

  void add(const CountedOp& op) {
    std::string path = home_;
    for (const void* input : op.inputs) {
      if (const auto owner = owners_.find(input); owner != owners_.end()) {
        path = owner->second;
        home_ = containers_.contains(path) ? path : parent_of(path);
      }
    }
    for (;; path = parent_of(path)) {
      LayerSummary& layer = layers_[index_.at(path)];
      layer.output_shape = op.output_shape;
      count(op, layer);
      if (path.empty()) break;
    }
  }

  std::vector<LayerSummary> take() { return std::move(layers_); }

 private:
  std::vector<LayerSummary> layers_;
  std::unordered_map<std::string, size_t> index_;
  std::unordered_map<const void*, std::string> owners_;
  std::unordered_set<std::string> containers_;  // layers with layers inside
  std::string home_;                            // the innermost container of the parameters used last
};

}  // namespace

ModelSummary summarize(SegmentationModel& model, int64_t channels, int64_t height, int64_t width) {
  const at::NoGradGuard no_grad;
  const bool training = model.is_training();
  model.eval();
  const at::Tensor any = model.parameters().front();
  Tree tree(model);
  ModelSummary summary;
  Tensors state{at::zeros({1, channels, height, width}, any.options().requires_grad(false))};
  for (const Segment& segment : model.segments()) {
    SegmentSummary& own = summary.segments.emplace_back(SegmentSummary{.name = segment.name});
    for (const at::Tensor& value : segment.parameters) own.parameters += value.numel();
    const OpCounter counter([&](const CountedOp& op) {
      tree.add(op);
      count(op, own);
    });
    state = segment.run(std::move(state));
    for (const at::Tensor& value : state) own.state += value.numel();
  }
  model.train(training);
  summary.layers = tree.take();
  // Its last counted operator may be another.
  summary.layers.front().output_shape = ModelOutput::of(state).logits().sizes().vec();
  return summary;
}

}  // namespace tessera
