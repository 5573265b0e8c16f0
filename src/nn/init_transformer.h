#pragma once
#include <torch/nn/module.h>

#include <cstdint>
#include <string>

namespace tessera {

// Weights of vision transformers and the Segmenter's decoders as their references draw them: linear layers, tokens, position
// and class embeddings normal with deviation 0.02, biases 0, norms 1 and 0, the patch convolution torch's uniform default,
// the mask decoder's two projections normal with deviation width^-0.5. A function of (seed, parameter name), see nn/draw.h;
// `prefix`, such as "backbone.vit.", is what the model's own names begin with for a part of it.
void init_transformer(torch::nn::Module& model, uint64_t seed, const std::string& prefix = "");

}  // namespace tessera
