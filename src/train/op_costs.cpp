#include "train/op_costs.h"

#include <ATen/ATen.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "tensor/op_observer.h"

namespace tessera {
namespace {

constexpr std::string_view kAttentionGradients = "tessera::attention_gradients";

struct Found {
  std::mutex mutex;  // backward runs on a thread of its own
  std::map<std::string, OpCosts> by_name;

  void add(std::string_view name, double flops, double bytes) {
    if (flops == 0 && bytes == 0) return;
    const std::lock_guard lock(mutex);
    OpCosts& total = by_name[std::string(name)];
    total.name = name;
    total.flops += flops;
    total.bytes += bytes;
  }
};

// The tensors that one call reads and writes, each once.
struct Traffic {
  double bytes = 0;
  std::set<const void*> seen = {};

  void add(OpValues values) {
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

// The multiplications of an operation that others are made of; those of `aten::conv2d` are counted in `aten::convolution`.
ProductMacs count_macs(std::string_view name, OpValues in) {
  if (name == "aten::convolution") return convolution_macs(in[0].toTensor(), in[1].toTensor(), in[6].toBool());
  if (name == "aten::mm" || name == "aten::bmm") return matmul_macs(in[0].toTensor());
  if (name == "aten::addmm" || name == "aten::baddbmm") return matmul_macs(in[1].toTensor());
  if (name == "aten::convolution_backward") {
    // Each of the two gradients that is wanted takes as many as the convolution itself.
    const bool transposed = in[7].toBool();
    const auto wanted = in[10].toBoolList();
    const int64_t forward = convolution_macs(in[1].toTensor(), in[2].toTensor(), transposed).total(in[0].toTensor().numel());
    return {.from_inputs = (wanted[0] + wanted[1]) * forward};
  }
  return {};
}

double count_attention_flops(std::string_view name, OpValues in) {
  if (name.starts_with("aten::_scaled_dot_product_")) {
    // (N, heads, T, d) queries, (N, heads, S, d) keys: two products of T x S x d. Backward makes the scores again, and four
    // products of that size.
    const bool backward = name.ends_with("_backward");
    const at::Tensor& keys = in[backward ? 2 : 1].toTensor();
    return (backward ? 10 : 4) * numel(in[backward ? 1 : 0]) * static_cast<double>(keys.size(2));
  }
  if (name == kAttentionGradients)  // (N, T, 3 * heads * d) queries, keys and values
    return 10 * numel(in[1]) / 3 * static_cast<double>(in[1].toTensor().size(1));
  return 0;
}

OpObserver::Finish begin(const std::shared_ptr<Found>& found, std::string_view name, OpValues in) {
  // All operations of ours but one are bound by memory.
  if (name.starts_with("tessera::") && name != kAttentionGradients) {
    Traffic traffic;
    traffic.add(in);
    return [found, traffic, name = std::string(name)](OpValues out) mutable {
      traffic.add(out);
      found->add(name, 0, traffic.bytes);
    };
  }
  const ProductMacs macs = count_macs(name, in);
  found->add(name, 2.0 * static_cast<double>(macs.from_inputs) + count_attention_flops(name, in), 0);
  if (macs.per_output == 0) return nullptr;
  return [found, macs, name = std::string(name)](OpValues out) {
    if (!out.empty()) found->add(name, 2.0 * static_cast<double>(macs.per_output) * numel(out[0]), 0);
  };
}

}  // namespace

std::vector<OpCosts> op_costs(const std::function<void()>& work) {
  const auto found = std::make_shared<Found>();
  {
    const OpObserver observer(OpObserver::Threads::kAll,
                              [found](std::string_view name, OpValues in) { return begin(found, name, in); });
    work();
  }
  std::vector<OpCosts> list;
  const std::lock_guard lock(found->mutex);
  for (auto& [name, total] : found->by_name) list.push_back(total);
  return list;
}

}  // namespace tessera
