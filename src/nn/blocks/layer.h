#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <utility>
#include <vector>

namespace tessera {

// A module from one tensor to one tensor, so that layers of several kinds can stand in one list.
class Layer : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& x) = 0;
};
using LayerPtr = std::shared_ptr<Layer>;

// Layers in a row, named by their place in the row as in torch.nn.Sequential and ModuleList.
class LayerList : public Layer {
 public:
  LayerList() = default;
  explicit LayerList(const std::vector<LayerPtr>& layers) {
    for (const LayerPtr& layer : layers) add(layer);
  }

  // `name` for a place that is not the next one: layers without parameters need not be there.
  void add(const LayerPtr& layer) { add(std::to_string(layers_.size()), layer); }
  void add(const std::string& name, const LayerPtr& layer) { layers_.push_back(register_module(name, layer)); }

  at::Tensor forward(const at::Tensor& x) override {
    at::Tensor y = x;
    for (const LayerPtr& layer : layers_) y = layer->forward(y);
    return y;
  }

  size_t size() const { return layers_.size(); }
  Layer& operator[](size_t i) const { return *layers_[i]; }

 private:
  std::vector<LayerPtr> layers_;
};

}  // namespace tessera
