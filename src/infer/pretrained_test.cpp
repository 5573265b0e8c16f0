#include "infer/pretrained.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "core/files.h"
#include "infer/checkpoint/model_state.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/small_models.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

using testing::small_model;

constexpr int kClasses = 4;

class Pretrained : public ::testing::Test {
 protected:
  // The model of `from`, written in `layout`, as the start of that of `to`.
  ModelPtr start(const ModelPtr& from, WeightLayout layout, const Experiment& to) {
    write_file(file_, encode_safetensors(to_layout(model_state(*from), layout).tensors));
    const ModelPtr model = make_model(to.model, {3, kClasses}, 99);
    ModelConfig config = to.model;
    config.pretrained = file_;
    load_pretrained(*model, config);
    return model;
  }

  const testing::TempFolder folder_;
  const fs::path file_ = folder_ / "weights.safetensors";
};

// mmsegmentation's ViT has no bias on its patches: ours goes into the positions, where it does the same at every image size.
TEST_F(Pretrained, SegmenterThroughMmsegsLayoutIsTheSameFunction) {
  for (const char* resize : {"bicubic", "bicubic_plain", "bilinear"}) {
    const Experiment e = small_model("segmenter", {fmt::format("model.segmenter.position_resize={}", resize)});
    const ModelPtr model = make_model(e.model, {3, kClasses}, 3);
    {
      const at::NoGradGuard no_grad;
      model->named_parameters()["encoder.patch_embed.proj.bias"].uniform_(-1, 1);
    }
    const ModelPtr back = start(model, WeightLayout::kMmseg, e);
    EXPECT_EQ(back->named_parameters()["encoder.patch_embed.proj.bias"].abs().max().item<float>(), 0.0F);
    const at::NoGradGuard no_grad;
    model->eval();
    back->eval();
    for (const int64_t width : {64, 100}) {
      const at::Tensor image = torch::linspace(-1, 1, 3 * 48 * width).view({1, 3, 48, width}).mul(7).sin();
      EXPECT_TRUE(torch::allclose(model->forward(image).logits(), back->forward(image).logits(), 1e-4, 1e-4))
          << resize << width;
    }
  }
}

// The pyramid on it starts fresh, its last norm is of no use, and both are said in the table.
TEST_F(Pretrained, ABareViTStartsAnUperNet) {
  const Experiment segmenter = small_model("segmenter", {"model.segmenter.layers=4"}), upernet = small_model("upernet_vit");
  const ModelPtr model = start(make_model(segmenter.model, {3, kClasses}, 3), WeightLayout::kTimm, upernet);
  const ModelPtr fresh = make_model(upernet.model, {3, kClasses}, 99);
  const auto weights = model->named_parameters(), before = fresh->named_parameters();
  EXPECT_FALSE(at::equal(weights["backbone.vit.blocks.0.attn.qkv.weight"], before["backbone.vit.blocks.0.attn.qkv.weight"]));
  EXPECT_TRUE(at::equal(weights["backbone.up4.0.weight"], before["backbone.up4.0.weight"]));
}

// What a DeepLabV3+ file of mmsegmentation met while our default bottleneck was another: it must not start a run half trained.
TEST_F(Pretrained, HeadOfOtherConvolutionsForAsManyClassesIsRefused) {
  const Experiment plain = small_model("deeplabv3plus");
  const Experiment separable = small_model("deeplabv3plus", {"model.deeplabv3plus.separable=all"});
  const ModelPtr model = make_model(plain.model, {3, kClasses}, 3);
  const std::string message = testing::message_of([&] { start(model, WeightLayout::kMmseg, separable); });
  EXPECT_CONTAINS(message, "decode_head.bottleneck.conv.weight");
  EXPECT_CONTAINS(message, "decode_head.bottleneck.depthwise_conv.conv.weight");
  Experiment allowing = separable;
  allowing.model.allow_missing = true;
  EXPECT_NO_THROW(start(model, WeightLayout::kMmseg, allowing));
}

}  // namespace
}  // namespace tessera
