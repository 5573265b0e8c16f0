// Feature maps are channels-last from the first convolution to the loss: nothing in a step on a GPU may turn one around.
#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <mutex>

#include "support/small_models.h"
#include "tensor/device.h"
#include "train/profile.h"
#include "train/train_step.h"

namespace tessera {
namespace {

using testing::first_batch;
using testing::small_model;

// Copies of feature maps into another order of memory, while it lives.
class LayoutCopies {
 public:
  LayoutCopies() {
    found().clear();
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&LayoutCopies::look).needsInputs(true));
  }
  ~LayoutCopies() { at::removeCallback(handle_); }
  LayoutCopies(const LayoutCopies&) = delete;
  LayoutCopies& operator=(const LayoutCopies&) = delete;

  static std::vector<std::string>& found() {
    static std::vector<std::string> all;
    return all;
  }

 private:
  static std::unique_ptr<at::ObserverContext> look(const at::RecordFunction& call) {
    static std::mutex mutex;  // backward runs on a thread of its own
    const auto inputs = call.inputs();
    if (std::string_view(call.name()) != "aten::copy_" || inputs.size() < 2) return nullptr;
    const at::Tensor to = inputs[0].toTensor(), from = inputs[1].toTensor();
    const auto channels_first = [](const at::Tensor& x) { return x.stride(1) != 1; };
    const int64_t largest_kernel = 7 * 7;  // weights are turned too, where a convolution takes a part of them
    const bool map = to.dim() == 4 && to.sizes() == from.sizes() && to.size(1) > 1 && to.size(2) * to.size(3) > largest_kernel;
    if (map && channels_first(to) != channels_first(from)) {
      const std::scoped_lock lock(mutex);
      found().push_back(c10::str(from.sizes(), " of strides ", from.strides(), " to ", to.strides()));
    }
    return nullptr;
  }

  at::CallbackHandle handle_;
};

// cuDNN turns what does not suit it by kernels of its own.
bool turns(const std::string& kernel) {
  return kernel.find("nchwToNhwc") != std::string::npos || kernel.find("nhwcToNchw") != std::string::npos;
}

TEST(LayoutCopies, AreSeen) {
  const at::Tensor map = at::rand({2, 3, 10, 10});
  const LayoutCopies copies;
  EXPECT_TRUE(map.contiguous().is_same(map));
  map.clone();
  EXPECT_EQ(LayoutCopies::found().size(), 0);
  map.contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(LayoutCopies::found().size(), 1);
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
      const LayoutCopies copies;
      step.run(batch, {2, 100, 2});
      for (const std::string& copy : LayoutCopies::found()) ADD_FAILURE() << name << ": " << copy;
    }
    for (const OpTime& kernel : profile(gpu, [&] { step.run(batch, {3, 100, 2}); }))
      EXPECT_FALSE(turns(kernel.name)) << name << ": " << kernel.calls << " " << kernel.name;
  }
}

}  // namespace
}  // namespace tessera
