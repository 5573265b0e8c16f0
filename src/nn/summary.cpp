#include "nn/summary.h"

#include <torch/nn.h>
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
      layer.macs += op.macs;
      layer.elementwise += op.elementwise;
      if (op.macs > 0) layer.activations += numel(op.output_shape);
      if (path.empty()) break;
    }
  }

  std::vector<LayerSummary> take() { return std::move(layers_); }

 private:
  static int64_t numel(const std::vector<int64_t>& shape) {
    int64_t product = 1;
    for (const int64_t side : shape) product *= side;
    return product;
  }

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
  ModelOutput output;
  {
    const OpCounter counter([&](const CountedOp& op) { tree.add(op); });
    output = model.forward(at::zeros({1, channels, height, width}, any.options().requires_grad(false)));
  }
  model.train(training);
  ModelSummary summary{tree.take()};
  summary.layers.front().output_shape = output.logits.sizes().vec();  // its last counted operator may be another
  return summary;
}

}  // namespace tessera
