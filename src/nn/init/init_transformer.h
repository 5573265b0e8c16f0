#pragma once
#include <torch/nn/module.h>

#include <cstdint>
#include <string>

namespace tessera {

// Weights of a fresh vision transformer and of the Segmenter's decoders as the Segmenter's reference draws them: linear layers,
// tokens, position and class embeddings normal with deviation 0.02, biases 0, the patch convolution torch's uniform default,
// the mask decoder's two projections normal with deviation width^-0.5. For `seed` and `prefix` see nn/init/init_layers.h.
void init_transformer(torch::nn::Module& model, uint64_t seed, const std::string& prefix = "");

}  // namespace tessera
