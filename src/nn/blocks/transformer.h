#pragma once
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "kernels/tokens/layer_norm.h"
#include "nn/blocks/dropout.h"
#include "nn/blocks/element_dropout.h"
#include "nn/blocks/segment.h"

namespace tessera {

struct TransformerOptions {
  int64_t width = 768;
  int64_t heads = 12;
  int64_t mlp_width = 0;         // 0: four times the width
  double dropout = 0;            // after the projection and inside the MLP
  double attention_dropout = 0;  // above 0, training keeps whole (T, T) matrices
  double drop_path = 0;          // of a stack: of the last layer, rising linearly from 0
  double norm_eps = 1e-6;
  bool checkpoint = false;  // a layer's segment keeps only its input, one tensor, and runs again in the backward pass
};

// What a layer adds to its tokens. `bias` belongs to the product that made it and is not added yet; undefined, it is 0 or in
// `value` already.
struct ResidualBranch {
  at::Tensor value, bias;
};

// Multi-head self-attention over (N, T, width), with one projection for queries, keys and values.
class AttentionImpl : public torch::nn::Module {
 public:
  explicit AttentionImpl(const TransformerOptions& options);
  // bias_apart: the last bias may be left to whoever adds the branch.
  ResidualBranch forward(const at::Tensor& x, bool bias_apart);
  at::Tensor weights(const at::Tensor& x);  // (N, heads, T, T), rows sum to 1

 private:
  std::vector<at::Tensor> queries_keys_values(const at::Tensor& x);  // each (N, heads, T, width / heads)

  int64_t heads_;
  double attention_dropout_;
  torch::nn::Linear qkv_{nullptr}, proj_{nullptr};
  ElementDropout attn_drop_{nullptr}, proj_drop_{nullptr};
};
TORCH_MODULE(Attention);

// Linear, exact GELU, linear.
class MlpImpl : public torch::nn::Module {
 public:
  explicit MlpImpl(const TransformerOptions& options);
  ResidualBranch forward(const at::Tensor& x, bool bias_apart);

 private:
  torch::nn::Linear fc1_{nullptr}, fc2_{nullptr};
  ElementDropout drop1_{nullptr}, drop2_{nullptr};
};
TORCH_MODULE(Mlp);

// Tokens on their way from layer to layer, (N, T, width): sum + branch. The addition waits for the next norm, which makes it in
// its own pass over the tokens.
struct ResidualTokens {
  at::Tensor sum;
  ResidualBranch branch;  // undefined: 0

  at::Tensor value() const;

  // The tokens as tensors of a state, see Note [Segments]: the sum, and of the branch what there is. They must be the last
  // ones of the state, since their number says which they are.
  Tensors pack() const;
  static ResidualTokens unpack(const Tensors& state);
};

// A pre-norm transformer layer with the parameter names of timm's Block.
class TransformerBlockImpl : public torch::nn::Module {
 public:
  explicit TransformerBlockImpl(const TransformerOptions& options);
  at::Tensor forward(const at::Tensor& x) { return advance({x, {}}).value(); }
  ResidualTokens advance(const ResidualTokens& x);  // forward within a stack of layers
  at::Tensor attention(const at::Tensor& x);        // the weights forward would use on x: (N, heads, T, T)
  bool checkpoint() const { return checkpoint_; }

 private:
  ResidualTokens compute(const ResidualTokens& x);
  bool drops_paths() const { return is_training() && drop_path_ > 0; }

  bool checkpoint_;
  double drop_path_;
  torch::nn::LayerNorm norm1_{nullptr}, norm2_{nullptr};
  Attention attn_{nullptr};
  Mlp mlp_{nullptr};
  DropPath drop_path1_{nullptr}, drop_path2_{nullptr};
};
TORCH_MODULE(TransformerBlock);

// `layers` blocks registered in `list` as 0, 1, ...; drop path rises linearly from 0 to `options.drop_path`.
std::vector<TransformerBlock> stack_blocks(torch::nn::ModuleList& list, int64_t layers, TransformerOptions options);

// A segment that advances tokens by one block. `path` is the block's place in the model.
Segment block_segment(const std::string& path, TransformerBlock block);

// A transformer's last norm of all tokens (N, T, width), or of the first `head` of each sample and the others as two tensors.
at::Tensor norm_tokens(const ResidualTokens& tokens, torch::nn::LayerNorm& norm);
SplitTokens norm_and_split(const ResidualTokens& tokens, torch::nn::LayerNorm& norm, int64_t head);

// Runs the blocks before `layer`, then returns that block's attention weights on their output: (N, heads, T, T).
at::Tensor attention_of(std::vector<TransformerBlock>& blocks, at::Tensor x, int64_t layer);

}  // namespace tessera
