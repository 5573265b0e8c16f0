#include "nn/blocks/checkpointed.h"

#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <algorithm>
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
  Rerun(TensorsFunction f, Tensors p, Tensors b, c10::DeviceType type)
      : compute(std::move(f)), parameters(std::move(p)), buffers(std::move(b)), context(step_context()), autocast(type) {}
  TensorsFunction compute;
  Tensors parameters, buffers;
  StepContext context;  // the backward pass may run on another thread, which has its own
  Autocast autocast;
  Tensors returned;  // by the first run, until the caller takes them: an undefined one is the next result of the node
};

bool is_one_of(const Tensors& tensors, const at::Tensor& wanted) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) { return tensor.is_same(wanted); });
}

// Parameters are inputs of the node, so their gradients flow through the outer graph and its hooks like any other. Its results
// are the outputs that are not inputs: gradients of those need not go through it.
struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static variable_list forward(AutogradContext* ctx, const c10::intrusive_ptr<Rerun>& rerun, at::TensorList inputs,
                               at::TensorList /*parameters*/) {
    const Tensors given = inputs.vec();
    ctx->save_for_backward(given);
    ctx->saved_data["rerun"] = c10::IValue::make_capsule(rerun);
    ctx->set_materialize_grads(false);
    variable_list made;
    rerun->returned = rerun->autocast.run([&] { return rerun->compute(given); });
    for (at::Tensor& output : rerun->returned) {
      if (!is_one_of(given, output)) made.push_back(std::exchange(output, {}));
    }
    return made;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    const auto holder = ctx->saved_data["rerun"].toCapsule();
    const auto& rerun = static_cast<const Rerun&>(*holder);
    variable_list inputs, wanted, roots, root_gradients;
    for (const at::Tensor& saved : ctx->get_saved_variables()) {
      inputs.push_back(saved.detach().requires_grad_(saved.requires_grad()));
      if (saved.requires_grad()) wanted.push_back(inputs.back());
    }
    wanted.insert(wanted.end(), rerun.parameters.begin(), rerun.parameters.end());
    Tensors outputs;
    {
      const at::AutoGradMode with_grad(true);
      StepContext again = rerun.context;
      again.running_statistics = nullptr;  // counted in the first run; what layers do to their buffers is undone
      const StepContextGuard context(std::move(again));
      const BufferKeeper keeper(rerun.buffers);
      outputs = rerun.autocast.run([&] { return rerun.compute(inputs); });
    }
    size_t next = 0;
    for (const at::Tensor& output : outputs) {
      if (is_one_of(inputs, output)) continue;
      const at::Tensor& gradient = grad_outputs[next++];
      if (!gradient.defined() || !output.requires_grad()) continue;
      roots.push_back(output);
      root_gradients.push_back(gradient);
    }
    variable_list found(wanted.size());
    if (!roots.empty()) {
      found = torch::autograd::grad(roots, wanted, root_gradients, /*retain_graph=*/false, /*create_graph=*/false,
                                    /*allow_unused=*/true);
    }
    variable_list result(1);  // none for `rerun`
    next = 0;
    for (const at::Tensor& input : inputs) {
      result.push_back(input.requires_grad() ? found[next++] : at::Tensor());
    }
    result.insert(result.end(), found.begin() + static_cast<int64_t>(next), found.end());
    return result;
  }
};

}  // namespace

Tensors checkpointed(const Tensors& parameters, const Tensors& buffers, const Tensors& inputs, TensorsFunction compute) {
  Tensors trained;
  for (const at::Tensor& value : parameters) {
    if (value.requires_grad()) trained.push_back(value);
  }
  bool needed = !trained.empty();
  for (const at::Tensor& input : inputs) needed = needed || input.requires_grad();
  if (!needed || !at::GradMode::is_enabled()) return compute(inputs);
  const auto rerun = c10::make_intrusive<Rerun>(std::move(compute), trained, buffers, inputs[0].device().type());
  const variable_list made = CheckpointFunction::apply(rerun, at::TensorList(inputs), at::TensorList(trained));
  Tensors outputs = std::exchange(rerun->returned, {});
  size_t next = 0;
  for (at::Tensor& output : outputs) {
    if (!output.defined()) output = made[next++];
  }
  return outputs;
}

}  // namespace tessera
