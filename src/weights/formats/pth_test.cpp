#include "weights/formats/pth.h"

#include <gtest/gtest.h>

#include "support/weight_files.h"

namespace tessera {
namespace {

using testing::handmade_pth;
using testing::message_of;
using testing::tensor_pickle;
using testing::weight_file;
using testing::weight_values;

const at::Tensor& get(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

LoadedFile load(const std::string& name) {
  return load_pth(weight_file(name), name);
}

void expect_plain(const NamedTensors& tensors, const std::string& prefix = "") {
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].first, prefix + "conv.weight");
  EXPECT_TRUE(get(tensors, prefix + "conv.weight").equal(weight_values({4, 3, 2, 2}, 0)));
  EXPECT_TRUE(get(tensors, prefix + "conv.bias").equal(weight_values({4}, 1)));
  EXPECT_EQ(get(tensors, prefix + "bn.num_batches_tracked").item<int64_t>(), 7);
}

TEST(Pth, BothFormatsAndAllProtocols) {
  for (const char* name : {"plain.pth", "plain_legacy.pth", "protocol4.pth"}) {
    SCOPED_TRACE(name);
    expect_plain(load(name).tensors);
  }
  expect_plain(find_state_dict(load("protocol5.pth")).tensors);
  EXPECT_TRUE(get(load("protocol5.pth").tensors, "numpy").equal(at::arange(5)));
}

TEST(Pth, TypesStridesOffsetsAndSharing) {
  for (const char* name : {"odd.pth", "odd_legacy.pth"}) {
    SCOPED_TRACE(name);
    const LoadedFile file = load(name);
    const auto& tensors = file.tensors;
    using Case = std::pair<const char*, at::ScalarType>;
    for (const auto& [word, type] : {Case{"float64", at::kDouble}, Case{"float32", at::kFloat}, Case{"float16", at::kHalf},
                                     Case{"bfloat16", at::kBFloat16}, Case{"int64", at::kLong}, Case{"int32", at::kInt},
                                     Case{"int16", at::kShort}, Case{"int8", at::kChar}}) {
      const at::Tensor& tensor = get(tensors, std::string("type.") + word);
      EXPECT_EQ(tensor.scalar_type(), type);
      EXPECT_TRUE(tensor.equal(weight_values({3, 2}, 4, type))) << word;
    }
    EXPECT_TRUE(get(tensors, "type.uint8").equal(at::arange(6, at::kByte).view({3, 2})));
    EXPECT_EQ(get(tensors, "type.bool").sum().item<int64_t>(), 4);
    const at::Tensor base = weight_values({6, 8}, 3);
    EXPECT_TRUE(get(tensors, "view.rows").equal(base.slice(0, 2, 4)));
    EXPECT_TRUE(get(tensors, "view.columns").equal(base.slice(1, 3, 5)));
    EXPECT_TRUE(get(tensors, "view.transposed").equal(base.t()));
    EXPECT_TRUE(get(tensors, "view.whole").equal(base));
    EXPECT_TRUE(get(tensors, "channels_last").equal(weight_values({2, 3, 4, 5}, 5)));
    EXPECT_EQ(get(tensors, "empty").sizes(), (std::vector<int64_t>{0, 4}));
    EXPECT_EQ(get(tensors, "scalar").item<float>(), 2.5F);
    EXPECT_TRUE(get(tensors, "parameter").equal(weight_values({5}, 6)));
    for (const auto& [key, tensor] : tensors) EXPECT_TRUE(tensor.is_contiguous()) << key;
  }
  const LoadedFile small = load("float8.pth");
  EXPECT_EQ(get(small.tensors, "e4").scalar_type(), at::kFloat8_e4m3fn);
  EXPECT_TRUE(get(small.tensors, "e5").to(at::kFloat).equal(weight_values({4}, 1).to(at::kFloat8_e5m2).to(at::kFloat)));
}

TEST(Pth, StateDictIsFoundInsideLightningAndComposer) {
  for (const char* name : {"lightning.ckpt", "lightning_legacy.ckpt"}) {
    const LoadedFile lightning = load(name);
    const StateDict state = find_state_dict(lightning);
    EXPECT_EQ(state.place, "state_dict");
    expect_plain(state.tensors, "model.");
    EXPECT_EQ(lightning.metadata.at("epoch"), "3");
    EXPECT_EQ(lightning.metadata.at("hyper_parameters.depth"), "50");
    EXPECT_EQ(lightning.metadata.at("best"), "0.75");
    EXPECT_TRUE(get(lightning.tensors, "history").equal(at::arange(6, at::kFloat).view({2, 3})));
    ASSERT_EQ(lightning.opaque.size(), 1U);
    EXPECT_EQ(lightning.opaque[0].first, "callbacks.ModelCheckpoint");
    EXPECT_EQ(lightning.opaque[0].second, "trainer.callbacks.Callback");
  }
  const StateDict composer = find_state_dict(load("composer.pt"));
  EXPECT_EQ(composer.place, "state.model");
  expect_plain(composer.tensors, "module.");
}

// "model" and "model_ema" of torchvision's and timm's training scripts; two networks of a home-made script.
TEST(LoadedFile, WhichOfSeveralModelsIsMeantIsSaidOrAsked) {
  const auto file_of = [](const std::vector<std::string>& groups) {
    LoadedFile file{"f.pth", "pth", {}, {}, {}, groups};
    for (size_t i = 0; i < groups.size(); ++i) {
      for (const char* name : {".a", ".b"}) file.tensors.emplace_back(groups[i] + name, at::full({1}, static_cast<int64_t>(i)));
    }
    return file;
  };
  const auto first = [](const StateDict& state) { return state.tensors.at(0).second.item<int64_t>(); };
  const LoadedFile averaged = file_of({"optimizer.state.0", "model", "model_ema"});
  EXPECT_EQ(find_state_dict(averaged).place, "model");
  EXPECT_EQ(find_state_dict(averaged).others, std::vector<std::string>{"model_ema"});
  const StateDict chosen = find_state_dict(averaged, "model_ema");
  EXPECT_EQ(first(chosen), 2);
  EXPECT_EQ(chosen.tensors.at(0).first, "a");
  EXPECT_TRUE(chosen.others.empty());
  EXPECT_CONTAINS(message_of([&] { find_state_dict(averaged, "ema"); }), "model_ema");
  EXPECT_TRUE(find_state_dict(file_of({"model"})).others.empty());
  const LoadedFile two = file_of({"left", "right"});
  EXPECT_CONTAINS(message_of([&] { find_state_dict(two); }), "several models: left, right");
  EXPECT_EQ(first(find_state_dict(two, "right")), 1);
}

TEST(Pth, ObjectsAmongTheWeightsAreRefusedByName) {
  const LoadedFile file = load("opaque_inside.pth");
  EXPECT_CONTAINS(message_of([&] { find_state_dict(file); }), "trainer.callbacks.Callback");
}

TEST(Pth, CodeInAFileIsRefusedByNameAndNotRun) {
  for (const char* name : {"evil.pth", "evil_inside.pth", "evil_legacy.pth"}) {
    EXPECT_CONTAINS(message_of([&] { load(name); }), "posix.system");
  }
  EXPECT_FALSE(std::filesystem::exists("/tmp/tessera-was-here"));
}

std::string complaint(const std::string& pickle, size_t bytes = 16) {
  return message_of([&] { load_pth(handmade_pth(pickle, bytes), "f"); });
}

TEST(Pth, LyingTensorsAreRefused) {
  EXPECT_EQ(complaint(tensor_pickle(4, 0, 4, 1)), "");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, 5, 1)), "need 20 bytes, its storage has 16");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 1, 4, 1)), "need 20 bytes");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, 4, 2)), "need 28 bytes");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, -1, 4, 1)), "impossible offset");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, -4, 1)), "impossible shape");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, 4, -1)), "impossible stride");
  EXPECT_CONTAINS(complaint(tensor_pickle(5, 0, 4, 1)), "should have 20 bytes, the file has 16");
  EXPECT_CONTAINS(complaint(tensor_pickle(3, 0, 3, 1)), "should have 12 bytes");
  EXPECT_CONTAINS(complaint(tensor_pickle(-3, 0, 3, 1)), "impossible size");
  EXPECT_CONTAINS(complaint(tensor_pickle(int64_t{1} << 62, 0, 1, 1)), "impossible size");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, int64_t{1} << 49, int64_t{1} << 49, int64_t{1} << 49)), "impossible shape");
}

TEST(Pth, TenGigabytesThatAreNotThereAreRefused) {
  constexpr int64_t kMany = 2'684'354'560;  // of 4 bytes
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, kMany, 1)), "its storage has 16");
  EXPECT_CONTAINS(complaint(tensor_pickle(kMany, 0, kMany, 1)), "should have 10737418240 bytes, the file has 16");
  EXPECT_CONTAINS(complaint(tensor_pickle(4, 0, kMany, 0)), "not trusted");  // one element, repeated
}

TEST(Pth, TruncatedFilesAreErrors) {
  for (const char* name : {"plain.pth", "plain_legacy.pth", "lightning.ckpt"}) {
    const Blob file = weight_file(name);
    for (size_t size = 0; size < file.size(); size += size < 64 || file.size() - size < 64 ? 1 : 37) {
      EXPECT_NE(message_of([&] { load_pth(file.part(0, size), name); }), "") << name << " cut at " << size;
    }
  }
}

}  // namespace
}  // namespace tessera
