#pragma once
#include <torch/nn/module.h>

#include <cstdint>
#include <string>

namespace tessera {

// What libraries start the weights of a convolution, transposed convolution or linear layer with. Fans are counted as torch
// does, inputs (outputs) of a group times the kernel's pixels; the bias is 0 where nothing else is said.
enum class LayerInit {
  kTorch,           // torch's own: weight and bias uniform within 1 / sqrt(fan in)
  kKaimingFanOut,   // normal of variance 2 / fan out: the ResNets of torchvision and mmsegmentation, mmcv's ConvModule
  kKaimingUniform,  // uniform of variance 2 / fan in: smp's decoders
  kNormal01,        // normal with deviation 0.01: mmsegmentation's classifiers
  kNormal02,        // normal with deviation 0.02: the linear layers of vision transformers
  kHe,              // normal of variance 2 / the larger fan
  kLecun,           // normal, cut at two deviations, of variance 1 / fan in: Flax
  kGlorot,          // uniform of variance 2 / (fan in + fan out): Keras, smp's heads
};

// Draws every such layer of `root` anew; other parameters (norms, tokens, embeddings) stay. The numbers of a parameter are a
// function of (seed, its name in the model): see nn/init/draw.h. `prefix`, such as "backbone.", is what those names begin with
// where `root` is a part of the model.
void init_layers(torch::nn::Module& root, LayerInit how, uint64_t seed, const std::string& prefix = "");

}  // namespace tessera
