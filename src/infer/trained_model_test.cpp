#include "infer/trained_model.h"

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

using testing::message_of;
using testing::small_model;

// A model with weights of its own, and its file in the layout of another library.
class Configured : public ::testing::Test {
 protected:
  ModelPtr write(const Experiment& e, int num_classes, WeightLayout layout, bool with_auxiliary = true) {
    const ModelPtr model = make_model(e.model, {3, num_classes}, 5);
    NamedTensors tensors = to_layout(model_state(*model), layout).tensors;
    if (!with_auxiliary) std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("auxiliary_head."); });
    write_file(file_, encode_safetensors(tensors));
    return model;
  }
  TrainedModel load(Experiment e, const std::vector<std::string>& overrides = {}) {
    const fs::path config = folder_ / "model.yaml";
    write_file(config, experiment_yaml(e));
    std::vector<std::string> all{"model.pretrained=" + file_.string()};
    all.insert(all.end(), overrides.begin(), overrides.end());
    return load_configured(config, all);
  }

  const testing::TempFolder folder_;
  const fs::path file_ = folder_ / "weights.safetensors";
};

TEST_F(Configured, WeightsOfAnotherLibraryAreTheModelThatTheConfigSays) {
  const Experiment e = small_model("pspnet");
  for (const bool with_auxiliary : {true, false}) {  // which only training uses
    const ModelPtr written = write(e, 4, WeightLayout::kMmseg, with_auxiliary);
    const TrainedModel loaded = load(e);
    EXPECT_EQ(loaded.classes.size(), 4);
    EXPECT_EQ(loaded.step, std::nullopt);
    EXPECT_EQ(loaded.title(), "pspnet with the weights of " + file_.string());
    EXPECT_FALSE(loaded.model->is_training());
    const NamedTensors ours = model_state(*loaded.model), theirs = model_state(*written);
    for (size_t i = 0; i < ours.size(); ++i) {
      if (!with_auxiliary && ours[i].first.starts_with("auxiliary_head.")) continue;
      EXPECT_TRUE(at::equal(ours[i].second, theirs[i].second)) << ours[i].first;
    }
  }
}

TEST_F(Configured, NothingRandomIsApplied) {
  const Experiment e = small_model("pspnet");
  write(e, 7, WeightLayout::kMmseg);  // of other classes: training would begin with a fresh head
  const std::string other = message_of([&] { load(e); });
  EXPECT_CONTAINS(other, "decode_head.conv_seg.weight (the file has (7, ");
  EXPECT_CONTAINS(other, "the config is for 4 classes");
  const ModelPtr whole = write(e, 4, WeightLayout::kMmseg);
  NamedTensors backbone = model_state(*whole);
  std::erase_if(backbone, [](const auto& entry) { return !entry.first.starts_with("backbone."); });
  write_file(file_, encode_safetensors(backbone));
  EXPECT_CONTAINS(message_of([&] { load(e); }), "the model would be random there");
  EXPECT_CONTAINS(message_of([&] { load(e, {"model.allow_missing=true"}); }), "the model would be random there");
  EXPECT_CONTAINS(message_of<UsageError>([&] { load(e, {"model.pretrained="}); }), "which weights?");
}

// A decoder with attention in it gives all that ours has, and would be measured without the attention.
TEST_F(Configured, AFileOfAModelWithMoreInItIsRefused) {
  const Experiment e = small_model("pspnet");
  NamedTensors tensors = model_state(*write(e, 4, WeightLayout::kMmseg));
  for (const char* name : {"decode_head.attention.weight", "backbone.layer1.0.se.fc1.weight"}) {
    NamedTensors more = tensors;
    more.emplace_back(name, at::zeros({1}));
    write_file(file_, encode_safetensors(more));
    for (const char* allow : {"model.allow_missing=false", "model.allow_missing=true"})
      EXPECT_CONTAINS(message_of([&] { load(e, {allow}); }), name);
  }
}

TEST_F(Configured, AFileInPlaceOfARunSaysTheWay) {
  write(small_model("unet"), 4, WeightLayout::kTessera);
  EXPECT_CONTAINS(message_of<UsageError>([&] { load_trained(file_, {}); }),
                  "CONFIG model.pretrained=" + file_.string() + " in place of --weights");
}

}  // namespace
}  // namespace tessera
