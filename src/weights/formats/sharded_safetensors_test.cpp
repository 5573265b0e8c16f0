#include "weights/formats/sharded_safetensors.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/weight_files.h"
#include "weights/formats/load_weights.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::weight_file;
using testing::weight_values;

TEST(LoadSafetensors, ReadsWhatTheFormatsOwnLibraryWrote) {
  const LoadedFile file = load_safetensors(weight_file("odd.safetensors"), "f");
  EXPECT_EQ(file.metadata.at("format"), "pt");
  std::map<std::string, at::Tensor> tensors(file.tensors.begin(), file.tensors.end());
  EXPECT_TRUE(tensors.at("type.bfloat16").equal(weight_values({3, 2}, 4, at::kBFloat16)));
  EXPECT_TRUE(tensors.at("view.transposed").equal(weight_values({6, 8}, 3).t()));
  EXPECT_EQ(tensors.at("type.bool").sum().item<int64_t>(), 4);
  const LoadedFile small = load_safetensors(weight_file("float8.safetensors"), "f");
  EXPECT_EQ(small.tensors[0].second.scalar_type(), at::kFloat8_e4m3fn);
}

TEST(LoadSafetensors, LyingHeadersAreRefused) {
  const auto complaint = [](const std::string& header, size_t data) {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    text += header + std::string(data, '\0');
    return message_of([&] { load_safetensors({testing::bytes_of(text), nullptr}, "f"); });
  };
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8), "outside the file");
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "needs 12 bytes");
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}})", 8), "impossible shape");
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8), "impossible shape");
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":"F32","shape":[2684354560],"data_offsets":[0,10737418240]}})", 8),
                  "outside the file");
  EXPECT_CONTAINS(complaint(R"({"x":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8), "expected dtype");
  EXPECT_CONTAINS(complaint(R"({"x":)", 8), "broken safetensors header");
  EXPECT_CONTAINS(complaint("[]", 8), "not a JSON object");
}

class Sharded : public ::testing::Test {
 protected:
  void SetUp() override {
    write_file(folder_ / "part-1.safetensors",
               encode_safetensors({{"a", weight_values({4}, 1)}, {"b", weight_values({2}, 2)}}));
    write_file(folder_ / "part-2.safetensors", encode_safetensors({{"c", weight_values({3}, 3)}}));
  }
  std::string complaint(const std::string& index) {
    write_file(index_, index);
    return message_of([&] { read_weights(index_); });
  }
  testing::TempFolder folder_;
  std::filesystem::path index_ = folder_ / "model.safetensors.index.json";
};

TEST_F(Sharded, ReadsAllPartsInTheOrderOfTheIndex) {
  write_file(index_, R"({"metadata": {"total_size": 36},
    "weight_map": {"c": "part-2.safetensors", "a": "part-1.safetensors", "b": "part-1.safetensors"}})");
  for (const auto& path : {index_, folder_.path()}) {
    const LoadedFile file = read_weights(path);
    ASSERT_EQ(file.tensors.size(), 3U);
    EXPECT_EQ(file.tensors[0].first, "c");
    EXPECT_TRUE(file.tensors[0].second.equal(weight_values({3}, 3)));
    EXPECT_TRUE(file.tensors[2].second.equal(weight_values({2}, 2)));
  }
}

TEST_F(Sharded, BrokenIndexesAreErrors) {
  EXPECT_CONTAINS(complaint(R"({"weight_map": {"d": "part-1.safetensors"}})"), "tensor 'd' should be in part-1.safetensors");
  EXPECT_CONTAINS(complaint(R"({"weight_map": {"a": "part-3.safetensors"}})"), "download all parts");
  EXPECT_CONTAINS(complaint(R"({"weight_map": {"a": "../part-1.safetensors"}})"), "beside the index");
  EXPECT_CONTAINS(complaint(R"({"weight_map": {"a": 7}})"), "broken index");
  EXPECT_CONTAINS(complaint(R"({"weight_map": )"), "broken index");
}

}  // namespace
}  // namespace tessera
