#include "weights/maps/key_map.h"

#include <gtest/gtest.h>

#include <set>

#include "support/weight_files.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::weight_values;
using Names = std::vector<std::string>;

// Tensors with the keys and shapes of a library's model (tests/interop/make_weight_keys.py).
NamedTensors library_model(const std::string& name) {
  static const nlohmann::json all = testing::load_fixture("weight_keys.json");
  NamedTensors tensors;
  for (const auto& [key, shape] : all.at(name).items()) tensors.emplace_back(key, at::zeros(shape.get<std::vector<int64_t>>()));
  return tensors;
}

NamedTensors with_prefix(const NamedTensors& tensors, const std::string& prefix) {
  NamedTensors out;
  for (const auto& [key, tensor] : tensors) out.emplace_back(prefix + key, tensor);
  return out;
}

std::set<std::string> keys(const NamedTensors& tensors) {
  std::set<std::string> out;
  for (const auto& [key, tensor] : tensors) out.insert(key);
  return out;
}

bool has(const MappedKeys& mapped, const std::string& key) {
  return keys(mapped.tensors).contains(key);
}

TEST(KeyMap, ResNetGoesUnderThePrefixOfTheModelWithoutItsClassifier) {
  const NamedTensors file = library_model("torchvision_resnet18");
  const MappedKeys ours = map_keys(file, {"backbone.conv1.weight", "backbone.layer1.0.conv1.weight"});
  EXPECT_EQ(ours.family, "torchvision or timm ResNet");
  EXPECT_EQ(ours.dropped, (Names{"fc.bias", "fc.weight"}));
  EXPECT_EQ(ours.tensors.size(), 100U);  // 20 convolutions, 20 batch norms of four tensors each
  EXPECT_TRUE(has(ours, "backbone.layer4.1.bn2.running_var"));
  EXPECT_FALSE(has(ours, "backbone.bn1.num_batches_tracked"));
  EXPECT_TRUE(has(map_keys(file, {"encoder.conv1.weight"}), "encoder.conv1.weight"));
}

// Lightning modules call a network as they like, and torch.compile, FSDP and checkpointing wrap parts of one.
TEST(KeyMap, WrappersOfAnyNameAndWithinNamesAreTakenOff) {
  const Names model{"backbone.conv1.weight"};
  const NamedTensors resnet = library_model("torchvision_resnet18");
  for (const char* prefix : {"student.", "_forward_module.model.", "my_net.inner."})
    EXPECT_TRUE(has(map_keys(with_prefix(resnet, prefix), model), "backbone.conv1.weight")) << prefix;
  EXPECT_EQ(map_keys(with_prefix(resnet, "student."), {}).family, "torchvision or timm ResNet");
  NamedTensors inside = resnet;
  for (auto& [key, tensor] : inside) {
    if (key.starts_with("layer1.")) key.insert(7, "_fsdp_wrapped_module._checkpoint_wrapped_module.");
    if (key.starts_with("layer2.")) key.insert(7, "_orig_mod.");
  }
  EXPECT_EQ(keys(map_keys(inside, model).tensors), keys(map_keys(resnet, model).tensors));
  // Names that nobody knows stay as they are, for the message; so do those of which the model knows one.
  const NamedTensors strange{{"a.b.x", at::zeros({1})}, {"a.b.y", at::zeros({1})}};
  EXPECT_TRUE(has(map_keys(strange, {"c"}), "a.b.x"));
  EXPECT_TRUE(has(map_keys(strange, {"a.b.y"}), "a.b.x"));
  EXPECT_TRUE(has(map_keys(strange, {"b.x"}), "b.x"));
}

TEST(KeyMap, TimmsAveragingShortcutsAndWhatMaeLeavesBehind) {
  const auto of = [](const Names& names) {
    NamedTensors tensors;
    for (const std::string& name : names) tensors.emplace_back(name, at::zeros({1}));
    return tensors;
  };
  const Names deep{"conv1.0.weight", "layer1.0.conv1.weight", "layer1.0.downsample.1.weight", "layer1.0.downsample.2.weight"};
  EXPECT_TRUE(has(map_keys(of(deep), {"backbone.stem.0.weight"}), "backbone.layer1.0.downsample.2.weight"));
  const Names mae{"patch_embed.proj.weight", "blocks.0.attn.qkv.weight", "mask_token", "decoder_embed.weight"};
  EXPECT_EQ(map_keys(of(mae), {"encoder.patch_embed.proj.weight"}).dropped, (Names{"mask_token", "decoder_embed.weight"}));
}

TEST(KeyMap, WrappersAreTakenOff) {
  const Names model{"backbone.conv1.weight"};
  NamedTensors file = with_prefix(library_model("torchvision_resnet18"), "module.model.");
  file.emplace_back("loss.weight", at::zeros({5}));
  const MappedKeys mapped = map_keys(file, model);
  EXPECT_TRUE(has(mapped, "backbone.conv1.weight"));
  EXPECT_EQ(mapped.dropped.front(), "loss.weight");
  EXPECT_TRUE(has(map_keys(with_prefix(library_model("torchvision_resnet18"), "encoder."), model), "backbone.conv1.weight"));
}

TEST(KeyMap, SegmentationModelsKeepTheirNames) {
  const auto fcn = map_keys(library_model("torchvision_fcn_resnet50"), {"backbone.conv1.weight", "classifier.4.weight"});
  EXPECT_EQ(fcn.family, "torchvision segmentation");
  EXPECT_TRUE(has(fcn, "backbone.layer3.5.bn3.weight") && has(fcn, "classifier.4.weight") &&
              has(fcn, "aux_classifier.0.weight"));
  const auto smp = map_keys(library_model("smp_unet_resnet18"), {"encoder.conv1.weight", "segmentation_head.0.weight"});
  EXPECT_EQ(smp.family, "segmentation_models_pytorch");
  EXPECT_TRUE(has(smp, "decoder.blocks.4.conv2.1.weight") && has(smp, "encoder.layer1.0.conv1.weight"));
  // Another model takes the encoder only.
  EXPECT_TRUE(has(map_keys(library_model("smp_unet_resnet18"), {"backbone.conv1.weight", "decode_head.conv_seg.weight"}),
                  "backbone.conv1.weight"));
}

TEST(KeyMap, DeepStemOfTimmIsRenamedThereAndBack) {
  const NamedTensors file = library_model("timm_resnet_deep_stem");
  const MappedKeys ours = map_keys(file, {"backbone.stem.0.weight"});
  for (const char* key :
       {"stem.0.weight", "stem.1.bias", "stem.3.weight", "stem.4.weight", "stem.6.weight", "stem.7.running_mean"}) {
    EXPECT_TRUE(has(ours, std::string("backbone.") + key)) << key;
  }
  NamedTensors model = ours.tensors;
  model.emplace_back("decode_head.conv_seg.weight", at::zeros({2, 4, 1, 1}));
  const MappedKeys back = to_layout(model, WeightLayout::kTimm);
  EXPECT_EQ(back.dropped, Names{"decode_head.conv_seg.weight"});
  auto expected = keys(file);
  std::erase_if(expected,
                [](const std::string& key) { return key.starts_with("fc.") || key.ends_with("num_batches_tracked"); });
  EXPECT_EQ(keys(back.tensors), expected);
}

TEST(KeyMap, TimmVitIsOursWithoutItsHeads) {
  const auto vit = map_keys(library_model("timm_vit_tiny"), {"encoder.cls_token", "encoder.patch_embed.proj.weight"});
  EXPECT_EQ(vit.family, "timm ViT");
  EXPECT_TRUE(has(vit, "encoder.blocks.11.mlp.fc2.bias") && has(vit, "encoder.pos_embed"));
  EXPECT_EQ(vit.dropped.size(), 2U);
  const auto pyramid = map_keys(library_model("timm_vit_tiny"), {"backbone.vit.cls_token", "backbone.up2.0.weight"});
  EXPECT_TRUE(has(pyramid, "backbone.vit.blocks.11.mlp.fc2.bias"));
  EXPECT_EQ(keys(to_layout(pyramid.tensors, WeightLayout::kTimm).tensors).count("blocks.11.mlp.fc2.bias"), 1U);
  const auto deit = map_keys(library_model("timm_deit_tiny_distilled"), {"encoder.cls_token"});
  EXPECT_TRUE(has(deit, "encoder.dist_token"));
  EXPECT_EQ(deit.dropped.size(), 4U);
}

// A Segmenter of width 4, one layer each side, 3 classes; tensor k of the formula.
NamedTensors our_segmenter(bool linear) {
  NamedTensors out;
  int64_t k = 0;
  const auto add = [&](const std::string& key, at::IntArrayRef shape) { out.emplace_back(key, weight_values(shape, k++)); };
  const auto layer = [&](const std::string& at) {
    for (const char* norm : {"norm1.", "norm2."}) add(at + norm + "weight", {4}), add(at + norm + "bias", {4});
    add(at + "attn.qkv.weight", {12, 4}), add(at + "attn.qkv.bias", {12});
    add(at + "attn.proj.weight", {4, 4}), add(at + "attn.proj.bias", {4});
    add(at + "mlp.fc1.weight", {16, 4}), add(at + "mlp.fc1.bias", {16});
    add(at + "mlp.fc2.weight", {4, 16}), add(at + "mlp.fc2.bias", {4});
  };
  add("encoder.cls_token", {1, 1, 4}), add("encoder.pos_embed", {1, 5, 4});
  add("encoder.patch_embed.proj.weight", {4, 3, 2, 2}), add("encoder.patch_embed.proj.bias", {4});
  layer("encoder.blocks.0.");
  add("encoder.norm.weight", {4}), add("encoder.norm.bias", {4});
  if (linear) {
    add("decoder.head.weight", {3, 4}), add("decoder.head.bias", {3});
    return out;
  }
  add("decoder.cls_emb", {1, 3, 4}), add("decoder.proj_patch", {4, 4}), add("decoder.proj_classes", {4, 4});
  layer("decoder.blocks.0.");
  add("decoder.proj_dec.weight", {4, 4}), add("decoder.proj_dec.bias", {4});
  for (const char* norm : {"decoder.decoder_norm.", "decoder.mask_norm."}) {
    add(norm + std::string("weight"), {norm[8] == 'm' ? 3 : 4}), add(norm + std::string("bias"), {norm[8] == 'm' ? 3 : 4});
  }
  return out;
}

void expect_equal(const NamedTensors& got, const NamedTensors& expected) {
  std::map<std::string, at::Tensor> table(got.begin(), got.end());
  EXPECT_EQ(keys(got), keys(expected));
  for (const auto& [key, tensor] : expected) {
    EXPECT_TRUE(table.contains(key) && table.at(key).equal(tensor)) << key;
  }
}

// What mmsegmentation's layout makes of the patches' bias: it is part of every patch's position, and zero itself.
NamedTensors with_bias_in_positions(NamedTensors ours) {
  at::Tensor bias;
  for (auto& [key, tensor] : ours) {
    if (key == "encoder.patch_embed.proj.bias") bias = std::exchange(tensor, at::zeros_like(tensor));
  }
  for (auto& [key, tensor] : ours) {
    if (key == "encoder.pos_embed") tensor = at::cat({tensor.slice(1, 0, 1), tensor.slice(1, 1) + bias}, 1);
  }
  return ours;
}

TEST(KeyMap, SegmenterOfMmsegThereAndBack) {
  for (const bool linear : {false, true}) {
    const NamedTensors ours = our_segmenter(linear);
    const Names names{"encoder.cls_token", "decoder.cls_emb"};
    const NamedTensors theirs = to_layout(ours, WeightLayout::kMmseg).tensors;
    const std::map<std::string, at::Tensor> table(theirs.begin(), theirs.end());
    EXPECT_TRUE(table.contains("backbone.layers.0.attn.attn.in_proj_weight"));
    EXPECT_TRUE(table.contains("backbone.layers.0.ffn.layers.0.0.weight") && table.contains("backbone.ln1.weight"));
    EXPECT_TRUE(table.contains("backbone.patch_embed.projection.weight"));
    if (linear) {
      EXPECT_EQ(table.at("decode_head.conv_seg.weight").sizes(), (std::vector<int64_t>{3, 4, 1, 1}));
    } else {
      EXPECT_TRUE(
          table.at("decode_head.patch_proj.weight").t().equal(std::map(ours.begin(), ours.end()).at("decoder.proj_patch")));
      EXPECT_TRUE(table.contains("decode_head.dec_proj.bias") && table.contains("decode_head.layers.0.ln2.weight"));
    }
    const MappedKeys back = map_keys(theirs, names);
    EXPECT_EQ(back.family, "mmsegmentation ViT");
    expect_equal(back.tensors, with_bias_in_positions(ours));
  }
}

// mmsegmentation's configs leave the patches' bias out: such a file means zero.
TEST(KeyMap, PatchesOfMmsegWithoutABiasGetOneOfZeros) {
  const NamedTensors file = library_model("mmseg_segmenter_mask");
  EXPECT_FALSE(keys(file).contains("backbone.patch_embed.projection.bias"));
  const MappedKeys ours = map_keys(file, {"encoder.cls_token", "decoder.cls_emb"});
  const std::map<std::string, at::Tensor> table(ours.tensors.begin(), ours.tensors.end());
  ASSERT_TRUE(table.contains("encoder.patch_embed.proj.bias"));
  EXPECT_TRUE(table.at("encoder.patch_embed.proj.bias").equal(at::zeros({192})));
  EXPECT_EQ(keys(to_layout(ours.tensors, WeightLayout::kMmseg).tensors), keys(file));
  NamedTensors biased = file;
  biased.emplace_back("backbone.patch_embed.projection.bias", at::ones({192}));
  const MappedKeys kept = map_keys(biased, {"encoder.cls_token"});
  EXPECT_TRUE(std::map(kept.tensors.begin(), kept.tensors.end()).at("encoder.patch_embed.proj.bias").equal(at::ones({192})));
}

TEST(KeyMap, MmsegsVitWithMultiLevelNeckIsRefusedByName) {
  const NamedTensors file = library_model("mmseg_vit_mln_upernet");
  EXPECT_CONTAINS(message_of([&] {
                    map_keys(file, {"backbone.vit.cls_token", "backbone.up2.0.weight", "decode_head.conv_seg.weight"});
                  }),
                  "mmsegmentation's ViT with MultiLevelNeck and UPerNet");
  // Its ViT can still start a Segmenter.
  EXPECT_TRUE(has(map_keys(file, {"encoder.cls_token", "encoder.blocks.0.norm1.weight"}), "encoder.blocks.0.norm1.weight"));
}

TEST(KeyMap, SegmenterOfItsAuthorsThereAndBack) {
  const NamedTensors ours = our_segmenter(false);
  const NamedTensors theirs = to_layout(ours, WeightLayout::kSegmenter).tensors;
  EXPECT_EQ(theirs.size(), ours.size() + 2);  // with the unused head
  const MappedKeys back = map_keys(theirs, {"encoder.cls_token"});
  EXPECT_EQ(back.family, "rstrudel/segmenter");
  EXPECT_EQ(back.dropped, (Names{"encoder.head.weight", "encoder.head.bias"}));
  expect_equal(back.tensors, ours);
}

TEST(KeyMap, FlaxKernelsArePermuted) {
  // Width 4, 2 heads of 2, one block. Our weight (out, in) is their kernel (in, heads, width / heads) flattened and turned.
  NamedTensors file;
  int64_t k = 0;
  const auto add = [&](const std::string& key, at::IntArrayRef shape) { file.emplace_back(key, weight_values(shape, k++)); };
  add("cls", {1, 1, 4}), add("embedding/kernel", {2, 2, 3, 4}), add("embedding/bias", {4});
  add("Transformer/posembed_input/pos_embedding", {1, 5, 4});
  const std::string block = "Transformer/encoderblock_0/", attention = block + "MultiHeadDotProductAttention_1/";
  for (const char* norm : {"LayerNorm_0", "LayerNorm_2"}) add(block + norm + "/scale", {4}), add(block + norm + "/bias", {4});
  for (const char* part : {"query", "key", "value"})
    add(attention + part + "/kernel", {4, 2, 2}), add(attention + part + "/bias", {2, 2});
  add(attention + "out/kernel", {2, 2, 4}), add(attention + "out/bias", {4});
  add(block + "MlpBlock_3/Dense_0/kernel", {4, 16}), add(block + "MlpBlock_3/Dense_0/bias", {16});
  add(block + "MlpBlock_3/Dense_1/kernel", {16, 4}), add(block + "MlpBlock_3/Dense_1/bias", {4});
  add("Transformer/encoder_norm/scale", {4}), add("Transformer/encoder_norm/bias", {4});
  add("head/kernel", {4, 10}), add("head/bias", {10});
  const MappedKeys mapped = map_keys(file, {"encoder.cls_token"});
  EXPECT_EQ(mapped.family, "Flax ViT");
  EXPECT_EQ(mapped.dropped, (Names{"head/kernel", "head/bias"}));
  std::map<std::string, at::Tensor> theirs(file.begin(), file.end()), ours(mapped.tensors.begin(), mapped.tensors.end());
  const at::Tensor key_kernel = theirs.at(attention + "key/kernel"), out_kernel = theirs.at(attention + "out/kernel");
  const at::Tensor qkv = ours.at("encoder.blocks.0.attn.qkv.weight");
  EXPECT_EQ(qkv.sizes(), (std::vector<int64_t>{12, 4}));
  EXPECT_EQ(qkv[4 + 3][2].item<float>(), key_kernel[2][1][1].item<float>());  // key, head 1, second number; input 2
  EXPECT_EQ(ours.at("encoder.blocks.0.attn.proj.weight")[3][2].item<float>(), out_kernel[1][0][3].item<float>());
  EXPECT_EQ(ours.at("encoder.patch_embed.proj.weight")[3][2][0][1].item<float>(),
            theirs.at("embedding/kernel")[0][1][2][3].item<float>());
  EXPECT_EQ(ours.at("encoder.blocks.0.mlp.fc1.weight")[15][2].item<float>(),
            theirs.at(block + "MlpBlock_3/Dense_0/kernel")[2][15].item<float>());
  EXPECT_EQ(ours.size(), 18U);
}

TEST(KeyMap, LayoutsThatDoNotFitSaySo) {
  const NamedTensors unet{{"down0.0.weight", at::zeros({4, 3, 3, 3})}, {"classifier.0.weight", at::zeros({2, 4, 1, 1})}};
  EXPECT_EQ(map_keys(unet, {}).family, "tessera");
  for (const auto layout :
       {WeightLayout::kTorchvision, WeightLayout::kTimm, WeightLayout::kMmseg, WeightLayout::kSmp, WeightLayout::kSegmenter}) {
    EXPECT_CONTAINS(message_of([&] { to_layout(unet, layout); }), "has no such model");
  }
  EXPECT_EQ(to_layout(unet, WeightLayout::kTessera).tensors.size(), 2U);
}

}  // namespace
}  // namespace tessera
