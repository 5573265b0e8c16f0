#include "nn/op_counter.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <map>
#include <utility>

namespace tessera {

struct OpCounter::Watch {
  std::function<void(const CountedOp&)> seen;
  int inside = 0;  // counted operations that are running
};

namespace {

enum class Kind { kConvolution, kLinear, kMatmul, kAddmm, kAttention, kNorm, kNormAct, kElementwise, kResizeConcat, kPools };

// Wrappers first: a call is counted at the outermost of these, so that an output has the shape its caller sees.
const std::map<std::string, Kind>& kinds() {
  static const std::map<std::string, Kind> table{
      {"aten::conv1d", Kind::kConvolution},
      {"aten::conv2d", Kind::kConvolution},
      {"aten::conv3d", Kind::kConvolution},
      {"aten::conv_transpose2d", Kind::kConvolution},
      {"aten::convolution", Kind::kConvolution},
      {"tessera::depthwise_conv", Kind::kConvolution},
      {"aten::linear", Kind::kLinear},
      {"aten::matmul", Kind::kMatmul},
      {"aten::mm", Kind::kMatmul},
      {"aten::bmm", Kind::kMatmul},
      {"aten::mv", Kind::kMatmul},
      {"aten::addmm", Kind::kAddmm},
      {"aten::baddbmm", Kind::kAddmm},
      {"aten::scaled_dot_product_attention", Kind::kAttention},
      {"aten::batch_norm", Kind::kNorm},
      {"aten::layer_norm", Kind::kNorm},
      {"aten::group_norm", Kind::kNorm},
      {"aten::instance_norm", Kind::kNorm},
      {"tessera::norm_act", Kind::kNormAct},
      {"aten::relu", Kind::kElementwise},
      {"aten::relu_", Kind::kElementwise},
      {"aten::gelu", Kind::kElementwise},
      {"aten::silu", Kind::kElementwise},
      {"aten::sigmoid", Kind::kElementwise},
      {"aten::softmax", Kind::kElementwise},
      {"aten::max_pool2d", Kind::kElementwise},
      {"aten::avg_pool2d", Kind::kElementwise},
      {"aten::adaptive_avg_pool2d", Kind::kElementwise},
      {"aten::upsample_bilinear2d", Kind::kElementwise},
      {"aten::upsample_nearest2d", Kind::kElementwise},
      {"aten::_upsample_bicubic2d_aa", Kind::kElementwise},
      {"tessera::adaptive_pools", Kind::kPools},
      {"tessera::max_pool", Kind::kElementwise},
      {"tessera::resize_bilinear", Kind::kElementwise},
      {"tessera::resize_concat", Kind::kResizeConcat},
  };
  return table;
}

thread_local OpCounter::Watch* watch = nullptr;

// What has to wait for the output.
struct Running : at::ObserverContext {
  Kind kind{};
  CountedOp op;
  int64_t per_output = 0;  // MACs per value written
  bool bias = false;
  bool relu = false;
};

int64_t inner(const at::Tensor& weight) {
  return weight.numel() / weight.size(0);
}

// MACs that follow from the inputs; `per_output` when the output's size is needed.
void read_inputs(Running& run, c10::ArrayRef<const c10::IValue> in) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : in) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
  }
  const auto has_bias = [&] { return tensors.size() > 2 && tensors[2].defined(); };
  switch (run.kind) {
    case Kind::kConvolution: {
      // A transposed convolution spreads every input value over its kernel, any other one gathers every output value.
      const bool transposed = run.op.name == "aten::conv_transpose2d" || (in.size() > 6 && in[6].isBool() && in[6].toBool());
      if (transposed) {
        run.op.macs = tensors[0].numel() * inner(tensors[1]);
      } else {
        run.per_output = inner(tensors[1]);
      }
      run.bias = has_bias();
      break;
    }
    case Kind::kLinear:
      run.per_output = tensors[0].size(-1);
      run.bias = has_bias();
      break;
    case Kind::kMatmul: run.per_output = tensors[0].size(-1); break;
    case Kind::kAddmm:
      run.per_output = tensors[1].size(-1);
      run.bias = true;
      break;
    case Kind::kAttention:
      // (.., T, d) x (.., S, d), then (.., T, S) x (.., S, e): T S (d + e) for every head.
      run.op.macs =
          tensors[0].numel() / tensors[0].size(-1) * tensors[1].size(-2) * (tensors[0].size(-1) + tensors[2].size(-1));
      run.op.elementwise = tensors[0].numel() / tensors[0].size(-1) * tensors[1].size(-2);
      break;
    case Kind::kNormAct: run.relu = in.back().toBool(); break;
    case Kind::kResizeConcat:
      // Only what is resized counts, as it would outside a concatenation.
      for (const at::Tensor& x : in[0].toTensorVector()) {
        const std::vector<int64_t> size = in[1].toIntVector();
        if (x.sizes().slice(2) != at::IntArrayRef(size)) run.op.elementwise += x.size(0) * x.size(1) * size[0] * size[1];
      }
      break;
    case Kind::kPools:
      for (const int64_t bins : in[1].toIntVector())
        run.op.elementwise += tensors[0].size(0) * tensors[0].size(1) * bins * bins;
      break;
    case Kind::kNorm:
    case Kind::kElementwise: break;
  }
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined() && tensor.has_storage()) run.op.inputs.push_back(tensor.const_data_ptr());
  }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& fn) {
  if (watch == nullptr) return nullptr;
  const auto kind = kinds().find(fn.name());
  if (kind == kinds().end()) return nullptr;
  auto run = std::make_unique<Running>();
  run->kind = kind->second;
  run->op.name = fn.name();
  if (watch->inside++ == 0) read_inputs(*run, fn.inputs());
  return run;
}

void on_end(const at::RecordFunction& fn, at::ObserverContext* context) {
  if (watch == nullptr || context == nullptr || --watch->inside > 0) return;
  auto& run = static_cast<Running&>(*context);
  if (fn.outputs().empty()) return;
  const c10::IValue& first = fn.outputs()[0];
  if (!first.isTensor() && !(first.isTensorList() && !first.toTensorList().empty())) return;
  const at::Tensor output = first.isTensor() ? first.toTensor() : first.toTensorVector().front();
  run.op.output_shape = output.sizes().vec();
  run.op.macs += run.per_output * output.numel();
  if (run.bias || run.kind == Kind::kElementwise) run.op.elementwise += output.numel();
  if (run.kind == Kind::kNorm || run.kind == Kind::kNormAct) run.op.elementwise += 2 * output.numel();
  if (run.relu) run.op.elementwise += output.numel();
  watch->seen(run.op);
}

}  // namespace

OpCounter::OpCounter(std::function<void(const CountedOp&)> seen) : watch_(std::make_unique<Watch>()) {
  watch_->seen = std::move(seen);
  watch = watch_.get();
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_start, on_end).needsInputs(true).needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

OpCounter::~OpCounter() {
  at::removeCallback(handle_);
  watch = nullptr;
}

}  // namespace tessera
