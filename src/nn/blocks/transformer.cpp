#include "nn/blocks/transformer.h"

#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/tokens/bias_gelu.h"
#include "kernels/tokens/layer_norm.h"
#include "kernels/tokens/self_attention.h"
#include "nn/blocks/linear.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

namespace nn = torch::nn;

// A branch's last product.
ResidualBranch branch_of(nn::Linear& layer, const at::Tensor& x, bool bias_apart, ElementDropout& dropout) {
  if (bias_apart && !dropout->drops() && use_fused_transformer(x)) return {at::linear(x, layer->weight), layer->bias};
  return {dropout(linear_with_bias(x, layer->weight, layer->bias)), {}};
}

at::Tensor softmax_weights(const at::Tensor& queries, const at::Tensor& keys) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(queries.size(3)));
  return (queries * scale).matmul(keys.transpose(2, 3)).softmax(-1);
}

nn::LayerNorm layer_norm(const TransformerOptions& options) {
  return nn::LayerNorm(nn::LayerNormOptions({options.width}).eps(options.norm_eps));
}

bool use_fused_norm(const at::Tensor& x, const nn::LayerNorm& norm) {
  return use_fused_transformer(x) && x.scalar_type() == norm->weight.scalar_type();
}

// The sum of the tokens and the norm of it.
NormalizedSum add_norm(const ResidualTokens& x, nn::LayerNorm& norm) {
  if (use_fused_norm(x.sum, norm))
    return add_layer_norm(x.sum, x.branch.value, norm->weight, norm->bias, norm->options.eps(), product_type(x.sum),
                          x.branch.bias);
  const at::Tensor sum = x.value();
  return {sum, norm(sum)};
}

}  // namespace

AttentionImpl::AttentionImpl(const TransformerOptions& options)
    : heads_(options.heads), attention_dropout_(options.attention_dropout) {
  TSR_CHECK_USAGE(options.width % options.heads == 0,
                  "a transformer of width {} cannot have {} heads: heads must divide the width", options.width, options.heads);
  qkv_ = register_module("qkv", nn::Linear(options.width, 3 * options.width));
  attn_drop_ = register_module("attn_drop", ElementDropout(options.attention_dropout));
  proj_ = register_module("proj", nn::Linear(options.width, options.width));
  proj_drop_ = register_module("proj_drop", ElementDropout(options.dropout));
}

std::vector<at::Tensor> AttentionImpl::queries_keys_values(const at::Tensor& x) {
  const int64_t samples = x.size(0), tokens = x.size(1), width = x.size(2);
  return linear_with_bias(x, qkv_->weight, qkv_->bias)
      .view({samples, tokens, 3, heads_, width / heads_})
      .permute({2, 0, 3, 1, 4})
      .unbind(0);
}

at::Tensor AttentionImpl::weights(const at::Tensor& x) {
  const auto parts = queries_keys_values(x);
  return softmax_weights(parts[0], parts[1]);
}

ResidualBranch AttentionImpl::forward(const at::Tensor& x, bool bias_apart) {
  // The fused attention draws its dropout from the device's generator, so it cannot be used with one that is a function of
  // the sample.
  const bool drops = is_training() && attention_dropout_ > 0;
  if (!drops && use_fused_transformer(x)) {
    const at::Tensor qkv = at::linear(x, qkv_->weight, at::GradMode::is_enabled() ? qkv_->bias.detach() : qkv_->bias);
    return branch_of(proj_, self_attention(qkv, qkv_->bias, heads_), bias_apart, proj_drop_);
  }
  const auto parts = queries_keys_values(x);
  const at::Tensor mixed = drops ? attn_drop_(softmax_weights(parts[0], parts[1])).matmul(parts[2])
                                 : at::scaled_dot_product_attention(parts[0], parts[1], parts[2]);
  return branch_of(proj_, mixed.transpose(1, 2).reshape(x.sizes()), bias_apart, proj_drop_);
}

MlpImpl::MlpImpl(const TransformerOptions& options) {
  const int64_t hidden = options.mlp_width > 0 ? options.mlp_width : 4 * options.width;
  fc1_ = register_module("fc1", nn::Linear(options.width, hidden));
  drop1_ = register_module("drop1", ElementDropout(options.dropout));
  fc2_ = register_module("fc2", nn::Linear(hidden, options.width));
  drop2_ = register_module("drop2", ElementDropout(options.dropout));
}

ResidualBranch MlpImpl::forward(const at::Tensor& x, bool bias_apart) {
  const at::Tensor hidden = use_fused_transformer(x) ? bias_gelu(at::linear(x, fc1_->weight), fc1_->bias)
                                                     : at::gelu(linear_with_bias(x, fc1_->weight, fc1_->bias));
  return branch_of(fc2_, drop1_(hidden), bias_apart, drop2_);
}

at::Tensor ResidualTokens::value() const {
  if (!branch.value.defined()) return sum;
  return sum + (branch.bias.defined() ? branch.value + branch.bias : branch.value);
}

Tensors ResidualTokens::pack() const {
  Tensors state{sum};
  if (branch.value.defined()) state.push_back(branch.value);
  if (branch.bias.defined()) state.push_back(branch.bias);
  return state;
}

ResidualTokens ResidualTokens::unpack(const Tensors& state) {
  return {state[0], {state.size() > 1 ? state[1] : at::Tensor(), state.size() > 2 ? state[2] : at::Tensor()}};
}

TransformerBlockImpl::TransformerBlockImpl(const TransformerOptions& options)
    : checkpoint_(options.checkpoint), drop_path_(options.drop_path) {
  norm1_ = register_module("norm1", layer_norm(options));
  attn_ = register_module("attn", Attention(options));
  drop_path1_ = register_module("drop_path1", DropPath(options.drop_path));
  norm2_ = register_module("norm2", layer_norm(options));
  mlp_ = register_module("mlp", Mlp(options));
  drop_path2_ = register_module("drop_path2", DropPath(options.drop_path));
}

ResidualTokens TransformerBlockImpl::advance(const ResidualTokens& x) {
  if (!checkpoint_) return compute(x);
  // Two or three tensors would be kept where the sum is one.
  return {compute({x.value(), {}}).value(), {}};
}

ResidualTokens TransformerBlockImpl::compute(const ResidualTokens& x) {
  const auto kept = [](DropPath& path, const ResidualBranch& branch) {
    return ResidualBranch{path(branch.value), branch.bias};
  };
  const NormalizedSum arrived = add_norm(x, norm1_);
  const ResidualBranch mixed = kept(drop_path1_, attn_(arrived.normalized, /*bias_apart=*/!drops_paths()));
  const NormalizedSum attended = add_norm({arrived.sum, mixed}, norm2_);
  // A checkpoint needs the sum at once.
  const bool bias_apart = !drops_paths() && !checkpoint_;
  return {attended.sum, kept(drop_path2_, mlp_(attended.normalized, bias_apart))};
}

at::Tensor TransformerBlockImpl::attention(const at::Tensor& x) {
  return attn_->weights(norm1_(x));
}

std::vector<TransformerBlock> stack_blocks(nn::ModuleList& list, int64_t layers, TransformerOptions options) {
  const double last = options.drop_path;
  std::vector<TransformerBlock> blocks;
  for (int64_t i = 0; i < layers; ++i) {
    options.drop_path = layers > 1 ? last * static_cast<double>(i) / static_cast<double>(layers - 1) : 0;
    blocks.emplace_back(options);
    list->push_back(blocks.back());
  }
  return blocks;
}

Segment block_segment(const std::string& path, TransformerBlock block) {
  return {.name = path,
          .parts = {path},
          .compute = [block](const Tensors& in) mutable { return block->advance(ResidualTokens::unpack(in)).pack(); },
          .checkpoint = block->checkpoint()};
}

at::Tensor norm_tokens(const ResidualTokens& tokens, nn::LayerNorm& norm) {
  return add_norm(tokens, norm).normalized;
}

SplitTokens norm_and_split(const ResidualTokens& tokens, nn::LayerNorm& norm, int64_t head) {
  if (use_fused_norm(tokens.sum, norm))
    return add_layer_norm_split(tokens.sum, tokens.branch.value, norm->weight, norm->bias, norm->options.eps(),
                                product_type(tokens.sum), tokens.branch.bias, head);
  const at::Tensor whole = norm_tokens(tokens, norm);
  return {whole.slice(1, 0, head), whole.slice(1, head)};
}

at::Tensor attention_of(std::vector<TransformerBlock>& blocks, at::Tensor x, int64_t layer) {
  const auto count = static_cast<int64_t>(blocks.size());
  TSR_CHECK(layer >= 0 && layer < count, "attention of layer {} was asked for; the layers are 0 to {}", layer, count - 1);
  for (int64_t i = 0; i < layer; ++i) x = blocks[static_cast<size_t>(i)](x);
  return blocks[static_cast<size_t>(layer)]->attention(x);
}

}  // namespace tessera
