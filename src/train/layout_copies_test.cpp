// Feature maps are channels-last from the first convolution to the loss: nothing in a step on a GPU may turn one around.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <mutex>

#include "support/small_models.h"
#include "tensor/device.h"
#include "tensor/op_observer.h"
#include "train/profile.h"
#include "train/train_step.h"

namespace tessera {
namespace {

using testing::first_batch;
using testing::small_model;

// Copies of feature maps into another order of memory, while it lives.
class LayoutCopies {
 public:
  const std::vector<std::string>& found() const { return found_; }

 private:
  void look(std::string_view name, OpValues inputs) {
    if (name != "aten::copy_" || inputs.size() < 2) return;
    const at::Tensor to = inputs[0].toTensor(), from = inputs[1].toTensor();
    const auto channels_first = [](const at::Tensor& x) { return x.stride(1) != 1; };
    const int64_t largest_kernel = 7 * 7;  // weights are turned too, where a convolution takes a part of them
    const bool map = to.dim() == 4 && to.sizes() == from.sizes() && to.size(1) > 1 && to.size(2) * to.size(3) > largest_kernel;
    if (map && channels_first(to) != channels_first(from)) {
      const std::scoped_lock lock(mutex_);
      found_.push_back(c10::str(from.sizes(), " of strides ", from.strides(), " to ", to.strides()));
    }
  }

  std::mutex mutex_;  // backward runs on a thread of its own
  std::vector<std::string> found_;
  OpObserver observer_{OpObserver::Threads::kAll, [this](std::string_view name, OpValues inputs) -> OpObserver::Finish {
                         look(name, inputs);
                         return nullptr;
                       }};
};

// cuDNN turns what does not suit it by kernels of its own.
bool turns(const std::string& kernel) {
  return kernel.find("nchwToNhwc") != std::string::npos || kernel.find("nhwcToNchw") != std::string::npos;
}

TEST(LayoutCopies, AreSeen) {
  const at::Tensor map = at::rand({2, 3, 10, 10});
  LayoutCopies copies;
  EXPECT_TRUE(map.contiguous().is_same(map));
  map.clone();
  EXPECT_EQ(copies.found().size(), 0);
  map.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(copies.found().size(), 1);
}

TEST(LayoutCopiesGpu, AStepOfNoModelMakesOne) {
  if (cuda_plugin() == nullptr || cuda_plugin()->gpus().empty()) GTEST_SKIP() << cuda_status();
  const at::Device gpu(at::kCUDA, 0);
  for (const std::string& name : model_names()) {
    const Experiment e = small_model(name, {"train.precision=bf16", "train.cuda_graph=false"});
    const Batch batch = first_batch(e);
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, gpu);
    for (int i = 0; i < 2; ++i) step.run(batch, {i, 100, 2});
    {
      LayoutCopies copies;
      step.run(batch, {2, 100, 2});
      for (const std::string& copy : copies.found()) ADD_FAILURE() << name << ": " << copy;
    }
    for (const OpTime& kernel : profile(gpu, [&] { step.run(batch, {3, 100, 2}); }))
      EXPECT_FALSE(turns(kernel.name)) << name << ": " << kernel.calls << " " << kernel.name;
  }
}

}  // namespace
}  // namespace tessera
