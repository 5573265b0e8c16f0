#include "nn/blocks/checkpointed.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <utility>

#include "tensor/step_context.h"

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The autocast state of the first run. Casts of weights are not cached inside: the first run makes them without a graph, and
// the second one would find those and lose the weights' gradients.
class Autocast {
 public:
  explicit Autocast(c10::DeviceType type)
      : type_(type), enabled_(at::autocast::is_autocast_enabled(type)), dtype_(at::autocast::get_autocast_dtype(type)) {}

  template <class Run>
  auto run(const Run& body) const {
    const Autocast outside(type_);
    const bool cached = at::autocast::is_autocast_cache_enabled();
    const struct Restore {
      const Autocast& state;
      bool cache;
      ~Restore() { state.set(cache); }
    } restore{outside, cached};
    set(false);
    return body();
  }

 private:
  void set(bool cache) const {
    at::autocast::set_autocast_enabled(type_, enabled_);
    at::autocast::set_autocast_dtype(type_, dtype_);
    at::autocast::set_autocast_cache_enabled(cache);
  }

  c10::DeviceType type_;
  bool enabled_;
  at::ScalarType dtype_;
};

// Puts buffers back when it goes. It writes through detached tensors: these are no changes that autograd should count, the
// values that graphs have saved are the same afterwards.
class BufferKeeper {
 public:
  explicit BufferKeeper(const std::vector<at::Tensor>& buffers) : buffers_(buffers) {
    for (const at::Tensor& buffer : buffers_) values_.push_back(buffer.detach().clone());
  }
  ~BufferKeeper() {
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].variable_data().copy_(values_[i]);
  }
  BufferKeeper(const BufferKeeper&) = delete;
  BufferKeeper& operator=(const BufferKeeper&) = delete;

 private:
  std::vector<at::Tensor> buffers_, values_;
};

struct Rerun : torch::CustomClassHolder {
  Rerun(Stage s, std::vector<at::Tensor> p, std::vector<at::Tensor> b, c10::DeviceType type)
      : stage(std::move(s)), parameters(std::move(p)), buffers(std::move(b)), context(step_context()), autocast(type) {}
  Stage stage;
  std::vector<at::Tensor> parameters, buffers;
  StepContext context;  // the backward pass may run on another thread, which has its own
  Autocast autocast;
};

// Parameters are inputs of the node, so their gradients flow through the outer graph and its hooks like any other.
struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static at::Tensor forward(AutogradContext* ctx, const c10::intrusive_ptr<Rerun>& rerun, at::TensorList inputs,
                            at::TensorList /*parameters*/) {
    ctx->save_for_backward(inputs.vec());
    ctx->saved_data["rerun"] = c10::IValue::make_capsule(rerun);
    return rerun->autocast.run([&] { return rerun->stage(inputs.vec()); });
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const auto holder = ctx->saved_data["rerun"].toCapsule();
    const auto& rerun = static_cast<const Rerun&>(*holder);
    variable_list inputs, wanted;
    for (const at::Tensor& saved : ctx->get_saved_variables()) {
      inputs.push_back(saved.detach().requires_grad_(saved.requires_grad()));
      if (saved.requires_grad()) wanted.push_back(inputs.back());
    }
    wanted.insert(wanted.end(), rerun.parameters.begin(), rerun.parameters.end());
    at::Tensor output;
    {
      const at::AutoGradMode with_grad(true);
      StepContext again = rerun.context;
      again.running_statistics = nullptr;  // counted in the first run; what layers do to their buffers is undone
      const StepContextGuard context(std::move(again));
      const BufferKeeper keeper(rerun.buffers);
      output = rerun.autocast.run([&] { return rerun.stage(inputs); });
    }
    const variable_list found = torch::autograd::grad({output}, wanted, {grad_outputs[0]}, /*retain_graph=*/false,
                                                      /*create_graph=*/false, /*allow_unused=*/true);
    variable_list result(1);  // none for `rerun`
    size_t next = 0;
    for (const at::Tensor& input : inputs) {
      result.push_back(input.requires_grad() ? found[next++] : at::Tensor());
    }
    result.insert(result.end(), found.begin() + static_cast<int64_t>(next), found.end());
    return result;
  }
};

}  // namespace

at::Tensor checkpointed(const torch::nn::Module& module, const std::vector<at::Tensor>& inputs, Stage stage) {
  std::vector<at::Tensor> trained;
  for (const at::Tensor& value : module.parameters()) {
    if (value.requires_grad()) trained.push_back(value);
  }
  bool needed = !trained.empty();
  for (const at::Tensor& input : inputs) needed = needed || input.requires_grad();
  if (!needed || !at::GradMode::is_enabled()) return stage(inputs);
  const auto rerun = c10::make_intrusive<Rerun>(std::move(stage), trained, module.buffers(), inputs[0].device().type());
  return CheckpointFunction::apply(rerun, at::TensorList(inputs), at::TensorList(trained));
}

}  // namespace tessera
