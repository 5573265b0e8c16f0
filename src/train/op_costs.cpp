#include "train/op_costs.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace tessera {
namespace {

using Values = c10::ArrayRef<const c10::IValue>;

constexpr std::string_view kAttentionGradients = "tessera::attention_gradients";

struct Found {
  std::mutex mutex;  // backward runs on a thread of its own
  std::map<std::string, LeastWork> by_name;
};
Found& found() {
  static Found instance;
  return instance;
}

// What is known of a call before its result: inputs may be gone when that is there.
struct Running : at::ObserverContext {
  double flops = 0, flops_per_output = 0, bytes = 0;
  std::set<const void*> seen;

  void add(Values values) {
    for (const c10::IValue& value : values) {
      if (value.isTensor()) add(value.toTensor());
      if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) add(tensor);
      }
    }
  }

 private:
  void add(const at::Tensor& tensor) {
    if (tensor.defined() && tensor.numel() > 0 && seen.insert(tensor.const_data_ptr()).second)
      bytes += static_cast<double>(tensor.nbytes());
  }
};

double numel(const c10::IValue& value) {
  return static_cast<double>(value.toTensor().numel());
}
double kernel_size(const c10::IValue& weight) {
  return numel(weight) / static_cast<double>(weight.toTensor().size(0));
}

// A multiplication and an addition are two. A transposed convolution spreads every input value over its kernel, any other one
// gathers every output value.
void count_flops(Running& run, std::string_view name, Values in) {
  if (name == "aten::convolution") {
    const bool transposed = in[6].toBool();
    run.flops = transposed ? 2 * numel(in[0]) * kernel_size(in[1]) : 0;
    run.flops_per_output = transposed ? 0 : 2 * kernel_size(in[1]);
  } else if (name == "aten::convolution_backward") {
    const auto wanted = in[10].toBoolList();
    run.flops = (wanted[0] + wanted[1]) * 2 * numel(in[7].toBool() ? in[1] : in[0]) * kernel_size(in[2]);
  } else if (name == "aten::mm" || name == "aten::bmm") {
    run.flops = 2 * numel(in[0]) * static_cast<double>(in[1].toTensor().size(-1));
  } else if (name == "aten::addmm" || name == "aten::baddbmm") {
    run.flops = 2 * numel(in[1]) * static_cast<double>(in[2].toTensor().size(-1));
  } else if (name.starts_with("aten::_scaled_dot_product_")) {
    // (N, heads, T, d) queries, (N, heads, S, d) keys: two products of T x S x d. Backward makes the scores again, and four
    // products of that size.
    const bool backward = name.ends_with("_backward");
    const at::Tensor& keys = in[backward ? 2 : 1].toTensor();
    run.flops = (backward ? 10 : 4) * numel(in[backward ? 1 : 0]) * static_cast<double>(keys.size(2));
  } else if (name == kAttentionGradients) {  // (N, T, 3 * heads * d) queries, keys and values
    run.flops = 10 * numel(in[1]) / 3 * static_cast<double>(in[1].toTensor().size(1));
  }
}

// All other operations of ours are bound by memory.
bool is_product(std::string_view name) {
  return name.starts_with("aten::") || name == kAttentionGradients;
}

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  auto run = std::make_unique<Running>();
  const std::string_view name = function.name();
  if (is_product(name)) {
    count_flops(*run, name, function.inputs());
  } else if (name.starts_with("tessera::")) {
    run->add(function.inputs());
  }
  return run;
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto& run = static_cast<Running&>(*context);
  const std::string_view name = function.name();
  const std::vector<c10::IValue>& outputs = function.outputs();
  if (name.starts_with("tessera::") && !is_product(name)) run.add(Values(outputs.data(), outputs.size()));
  if (run.flops_per_output > 0) run.flops = run.flops_per_output * numel(outputs[0]);
  if (run.flops == 0 && run.bytes == 0) return;
  const std::lock_guard lock(found().mutex);
  LeastWork& total = found().by_name[std::string(name)];
  total.flops += run.flops;
  total.bytes += run.bytes;
}

}  // namespace

std::vector<LeastWork> least_work(const std::function<void()>& work) {
  found().by_name.clear();
  const auto handle = at::addGlobalCallback(
      at::RecordFunctionCallback(&begin, &end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
  work();
  at::removeCallback(handle);
  std::vector<LeastWork> list;
  for (auto& [name, total] : found().by_name) {
    total.name = name;
    list.push_back(total);
  }
  return list;
}

}  // namespace tessera
