#include "nn/op_counter.h"

#include <ATen/ATen.h>

#include <map>
#include <utility>

namespace tessera {
namespace {

enum class Kind { kConvolution, kLinear, kMatmul, kAddmm, kAttention, kNorm, kNormAct, kElementwise, kResizeConcat, kPools };

// Wrappers first: a call is counted at the outermost of these, so that an output has the shape its caller sees.
const std::map<std::string_view, Kind>& kinds() {
  static const std::map<std::string_view, Kind> table{
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

// What has to wait for the output.
struct Running {
  Kind kind{};
  CountedOp op;
  ProductMacs macs;
  bool bias = false;
  bool relu = false;
};

void read_inputs(Running& run, OpValues in) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : in) {
    if (value.isTensor()) tensors.push_back(value.toTensor());
  }
  const auto has_bias = [&] { return tensors.size() > 2 && tensors[2].defined(); };
  switch (run.kind) {
    case Kind::kConvolution: {
      const bool transposed = run.op.name == "aten::conv_transpose2d" || (in.size() > 6 && in[6].isBool() && in[6].toBool());
      run.macs = convolution_macs(tensors[0], tensors[1], transposed);
      run.bias = has_bias();
      break;
    }
    case Kind::kLinear:
      run.macs = matmul_macs(tensors[0]);
      run.bias = has_bias();
      break;
    case Kind::kMatmul: run.macs = matmul_macs(tensors[0]); break;
    case Kind::kAddmm:
      run.macs = matmul_macs(tensors[1]);
      run.bias = true;
      break;
    case Kind::kAttention:
      // (.., T, d) x (.., S, d), then (.., T, S) x (.., S, e): T S (d + e) for every head.
      run.macs.from_inputs =
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

// Adds what follows from the outputs; false if the operation has none to count.
bool read_outputs(Running& run, OpValues out) {
  if (out.empty()) return false;
  const c10::IValue& first = out[0];
  if (!first.isTensor() && !(first.isTensorList() && !first.toTensorList().empty())) return false;
  const at::Tensor output = first.isTensor() ? first.toTensor() : first.toTensorVector().front();
  run.op.output_shape = output.sizes().vec();
  run.op.macs = run.macs.total(output.numel());
  if (run.bias || run.kind == Kind::kElementwise) run.op.elementwise += output.numel();
  if (run.kind == Kind::kNorm || run.kind == Kind::kNormAct) run.op.elementwise += 2 * output.numel();
  if (run.relu) run.op.elementwise += output.numel();
  return true;
}

}  // namespace

OpCounter::OpCounter(std::function<void(const CountedOp&)> seen)
    : seen_(std::move(seen)),
      observer_(OpObserver::Threads::kThis, [this](std::string_view name, OpValues inputs) { return begin(name, inputs); }) {}

OpObserver::Finish OpCounter::begin(std::string_view name, OpValues inputs) const {
  const auto kind = kinds().find(name);
  if (kind == kinds().end()) return nullptr;
  if (inside_++ > 0) return [this](OpValues) { --inside_; };
  Running run;
  run.kind = kind->second;
  run.op.name = name;
  read_inputs(run, inputs);
  return [this, run = std::move(run)](OpValues outputs) mutable {
    --inside_;
    if (read_outputs(run, outputs)) seen_(run.op);
  };
}

}  // namespace tessera
