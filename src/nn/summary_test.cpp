#include "nn/summary.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "nn/op_counter.h"

namespace tessera {
namespace {

using Shape = std::vector<int64_t>;

const LayerSummary& layer(const ModelSummary& summary, const std::string& path) {
  for (const LayerSummary& entry : summary.layers) {
    if (entry.path == path) return entry;
  }
  ADD_FAILURE() << "no layer " << path;
  return summary.total();
}

TEST(Summary, UNetByHand) {
  ModelConfig config;
  config.unet = {.channels = {4}, .convs = {1}};
  const ModelPtr model = make_model(config, {3, 2}, 1);
  const ModelSummary summary = summarize(*model, 3, 8, 8);
  // (layer, MACs): values written x kernel x input channels; the transposed one: values read x kernel x output channels.
  EXPECT_EQ(layer(summary, "down0").macs, 64 * 4 * 9 * 3);
  EXPECT_EQ(layer(summary, "bottleneck").macs, 16 * 8 * 9 * 4);
  EXPECT_EQ(layer(summary, "up0").macs, 16 * 8 * 4 * 4);
  EXPECT_EQ(layer(summary, "merge0").macs, 64 * 4 * 9 * 8);
  EXPECT_EQ(layer(summary, "classifier").macs, 64 * 2 * 4);
  EXPECT_EQ(summary.total().macs, 6912 + 4608 + 2048 + 18432 + 512);
  EXPECT_EQ(summary.total().parameters, 112 + 8 + 296 + 16 + 132 + 292 + 8 + 10);
  EXPECT_EQ(summary.total().activations, 256 + 128 + 256 + 256 + 128);
  // Biases 1024, norms 2 x 640, ReLU 640, pooling 64.
  EXPECT_EQ(summary.total().elementwise, 1024 + 1280 + 640 + 64);
  EXPECT_EQ(layer(summary, "down0.0").type, "Conv2d");
  EXPECT_EQ(layer(summary, "down0.0").depth, 2);
  EXPECT_EQ(layer(summary, "bottleneck").output_shape, (Shape{1, 8, 4, 4}));
  EXPECT_EQ(summary.total().output_shape, (Shape{1, 2, 8, 8}));
  EXPECT_EQ(summary.total().type, "UNet");
  EXPECT_TRUE(model->is_training());
}

// Sums over the segments are those of the model; a cut behind the first height would carry its skip and the pooled features.
TEST(Summary, SegmentsOfAUNet) {
  ModelConfig config;
  config.unet = {.channels = {4}, .convs = {1}};
  const ModelSummary summary = summarize(*make_model(config, {3, 2}, 1), 3, 8, 8);
  std::vector<std::string> names;
  SegmentSummary sum;
  for (const SegmentSummary& segment : summary.segments) {
    names.push_back(segment.name);
    sum.parameters += segment.parameters;
    sum.macs += segment.macs;
    sum.elementwise += segment.elementwise;
    sum.activations += segment.activations;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"encoder0", "bottleneck", "decoder0", "classifier"}));
  EXPECT_EQ(sum.parameters, summary.total().parameters);
  EXPECT_EQ(sum.macs, summary.total().macs);
  EXPECT_EQ(sum.elementwise, summary.total().elementwise);
  EXPECT_EQ(sum.activations, summary.total().activations);
  EXPECT_EQ(summary.segments[0].state, 64 * 4 + 16 * 4);
  EXPECT_EQ(summary.segments[1].state, 64 * 4 + 16 * 8);
  EXPECT_EQ(summary.segments[3].state, 64 * 2);
}

// 7 tokens (2 x 3 patches of 4 x 4 pixels and the class token) of width 8, two heads.
TEST(Summary, TransformerBlockByHand) {
  ModelConfig config;
  config.name = "segmenter";
  config.segmenter.decoder = SegmenterDecoder::kLinear;
  config.segmenter.image_size = {8, 12};
  config.segmenter.patch = 4;
  config.segmenter.width = 8;
  config.segmenter.layers = 1;
  config.segmenter.heads = 2;
  const ModelSummary summary = summarize(*make_model(config, {3, 5}, 1), 3, 8, 12);
  EXPECT_EQ(layer(summary, "encoder.patch_embed.proj").macs, 6 * 8 * 48);
  EXPECT_EQ(layer(summary, "encoder.blocks.0.attn.qkv").macs, 7 * 8 * 24);
  EXPECT_EQ(layer(summary, "encoder.blocks.0.attn.qkv").output_shape, (Shape{1, 7, 24}));
  EXPECT_EQ(layer(summary, "encoder.blocks.0.attn").macs, 7 * 8 * 24 + 2 * 7 * 7 * 8 + 7 * 8 * 8);
  EXPECT_EQ(layer(summary, "encoder.blocks.0.mlp").macs, 2 * 7 * 8 * 32);
  EXPECT_EQ(layer(summary, "decoder.head").macs, 6 * 8 * 5);
  EXPECT_EQ(summary.total().macs, 2304 + 2576 + 3584 + 240);
  EXPECT_EQ(layer(summary, "encoder.blocks.0").parameters, 12 * 64 + 13 * 8);
}

// The mask decoder's products of tokens with parameters that are no layers, and with each other.
TEST(Summary, MaskDecoderByHand) {
  ModelConfig config;
  config.name = "segmenter";
  config.segmenter.image_size = {8, 8};
  config.segmenter.patch = 4;
  config.segmenter.width = 8;
  config.segmenter.layers = 1;
  config.segmenter.heads = 2;
  config.segmenter.decoder_layers = 1;
  const ModelSummary summary = summarize(*make_model(config, {3, 5}, 1), 3, 8, 8);
  // 4 patches and 5 classes: projection in, one block of 9 tokens, the two projections, the cosines.
  EXPECT_EQ(layer(summary, "decoder").macs, 4 * 64 + (9 * 64 * 12 + 2 * 81 * 8) + 4 * 64 + 5 * 64 + 4 * 5 * 8);
}

TEST(OpCounter, SeesEachProductOnce) {
  const auto macs = [](const auto& run) {
    int64_t total = 0;
    const OpCounter counter([&](const CountedOp& op) { total += op.macs; });
    run();
    return total;
  };
  const at::Tensor a = torch::ones({2, 3, 4}), b = torch::ones({4, 5}), q = torch::ones({1, 2, 6, 4});
  EXPECT_EQ(macs([&] { a.matmul(b); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs([&] { at::linear(a, b.t(), torch::ones({5})); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs([&] { at::einsum("nij,jk->nik", {a, b}); }), 2 * 3 * 4 * 5);
  EXPECT_EQ(macs([&] { at::addmm(torch::ones({5}), a[0], b); }), 3 * 4 * 5);
  EXPECT_EQ(macs([&] { at::scaled_dot_product_attention(q, q, q); }), 2 * 2 * 6 * 6 * 4);
  EXPECT_EQ(macs([&] { at::conv2d(torch::ones({1, 4, 5, 5}), torch::ones({8, 2, 3, 3}), {}, 1, 1, 1, 2); }), 25 * 8 * 2 * 9);
  EXPECT_EQ(macs([&] { a + a; }), 0);
}

}  // namespace
}  // namespace tessera
