// Every config that the program carries trains two steps on a miniature of its own data set: as it is, but for crops, batches
// and widths that are small, and pretrained weights of those widths.
#include <gtest/gtest.h>
#include <torch/types.h>

#include "config/builtin_configs.h"
#include "core/files.h"
#include "infer/checkpoint/model_state.h"
#include "support/fixtures.h"
#include "support/mini_data.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::TempFolder;

constexpr int kCrop = 32;

void write_data(const DataConfig& data, const fs::path& root) {
  if (data.type == SourceType::kAde20k) return testing::write_ade20k(root);
  if (data.type == SourceType::kCoco) return testing::write_coco(root, data.train.images.substr(data.train.images.size() - 4));
  if (data.type != SourceType::kPairs) return;
  const int channels = static_cast<int>(data.channels);
  const std::string images = data.train.images.empty() ? "images" : data.train.images;
  const std::string masks = data.train.masks.empty() ? "masks" : data.train.masks;
  const std::vector<std::string> folders = data.labels.multi ? data.classes : std::vector<std::string>{""};
  testing::write_pairs(root, images, masks, 10, channels, folders);
  if (!data.val.images.empty()) testing::write_pairs(root, data.val.images, data.val.masks, 2, channels, folders);
}

// The ratio of sides stays.
Size shrunk(Size size) {
  const int side = std::min(size.height, size.width);
  return side == 0 ? size : Size{size.height * kCrop / side, size.width * kCrop / side};
}

void shrink(std::vector<TransformConfig>& transforms) {
  for (TransformConfig& transform : transforms) {
    if (auto* resize = std::get_if<ResizeConfig>(&transform)) resize->size = shrunk(resize->size);
    if (auto* jitter = std::get_if<ScaleJitterConfig>(&transform)) jitter->base = shrunk(jitter->base);
    if (auto* crop = std::get_if<RandomCropConfig>(&transform)) crop->size = shrunk(crop->size);
    if (auto* pad = std::get_if<PadConfig>(&transform)) pad->size = shrunk(pad->size);
  }
}

void shrink(Experiment& e) {
  shrink(e.data.train.transforms);
  shrink(e.data.val.transforms);
  if (e.data.type == SourceType::kSynthetic) {
    e.data.synthetic.size = {kCrop, kCrop};
    e.data.train.count = 8;
    e.data.val.count = 2;
  }
  for (int64_t& channels : e.model.unet.channels) channels = std::max<int64_t>(2, channels / 8);
  e.model.unet.bottleneck /= 8;
  e.model.backbone.width = e.model.backbone.stem_width = 8;
  e.model.pspnet.channels = e.model.upernet.channels = e.model.deeplabv3plus.channels = e.model.fcn.channels = 16;
  e.model.deeplabv3.channels = 16;
  for (VitConfig* vit : {static_cast<VitConfig*>(&e.model.segmenter), static_cast<VitConfig*>(&e.model.upernet_vit)}) {
    vit->width = 32;
    vit->layers = 4;
    vit->heads = 2;
    vit->image_size = {kCrop, kCrop};
  }
  e.model.upernet_vit.head.channels = 16;
  e.train.batch_size = e.train.norm_group = 4;
  e.train.duration = Duration::batches(2);
  e.train.device = "cpu";
  e.eval.batch_size = 2;
  if (!e.eval.window.size.automatic) e.eval.window.size = e.eval.window.stride = shrunk(e.eval.window.size);
  e.data.threads = 1;
}

// The model's own weights with a head for other classes.
void write_weights(const Experiment& e, const fs::path& file) {
  const ModelPtr model = make_model(e.model, {static_cast<int>(e.data.channels), 7}, 5);
  write_file(file, encode_safetensors(model_state(*model)));
}

class ReadyConfig : public ::testing::TestWithParam<std::string> {};

TEST_P(ReadyConfig, TrainsTwoStepsOnAMiniature) {
  const TempFolder folder;
  const fs::path data = folder / "data";
  Experiment e = load_experiment(kBuiltinPrefix + GetParam(),
                                 {"data.path=" + data.string(), "run.dir=" + (folder / "run").string(), "run.pictures=1"});
  write_data(e.data, data);
  shrink(e);
  if (!e.model.pretrained.empty()) {
    e.model.pretrained = (folder / "weights.safetensors").string();
    write_weights(e, e.model.pretrained);
  }
  validate(e);
  World alone;
  const RunResult result = run_training(e, {}, alone);
  EXPECT_EQ(result.state.step, 2);
  EXPECT_EQ(result.status(), "done");
  ASSERT_TRUE(result.last_eval.has_value());
  EXPECT_EQ(load_experiment(folder / "run/config.yaml").train.duration, Duration::batches(2));
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const EmbeddedFile* config : builtin_trainings()) all.emplace_back(config->name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Carried, ReadyConfig, ::testing::ValuesIn(names()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace tessera
