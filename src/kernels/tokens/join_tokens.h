#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// A transformer's input: the patches of each sample with the tokens that all samples share, before or behind them, plus
// position embeddings; in one pass each way, with gradients summed over samples in a fixed order. patches: (N, P, width), any
// floating type; tokens: (K, width), float32 or float64 (then patches too); positions: (P + K, width) like tokens, or
// undefined. Result: (N, P + K, width) in the type of tokens.
at::Tensor join_tokens(const at::Tensor& patches, const at::Tensor& tokens, const at::Tensor& positions, bool tokens_first);

}  // namespace tessera
