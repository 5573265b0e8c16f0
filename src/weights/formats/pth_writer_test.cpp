#include "weights/formats/pth_writer.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "support/weight_files.h"
#include "weights/formats/npz.h"
#include "weights/formats/pth.h"

namespace tessera {
namespace {

using testing::weight_values;

NamedTensors tensors_for_all() {
  return {{"conv.weight", weight_values({4, 3, 2, 2}, 0).contiguous(at::MemoryFormat::ChannelsLast)},
          {"half", weight_values({3, 2}, 1, at::kHalf)},
          {"double", weight_values({5}, 2, at::kDouble)},
          {"long", weight_values({2, 2}, 3, at::kLong)},
          {"transposed", weight_values({6, 8}, 4).t()},
          {"empty", at::empty({0, 4})},
          {"scalar", at::scalar_tensor(2.5)},
          {"bool", at::tensor({1, 0, 1}).to(at::kBool)}};
}

NamedTensors tensors_for_torch() {
  NamedTensors tensors = tensors_for_all();
  tensors.emplace_back("bfloat16", weight_values({4}, 5, at::kBFloat16));
  tensors.emplace_back("float8", weight_values({4}, 6).to(at::kFloat8_e4m3fn));
  return tensors;
}

void expect_same(const NamedTensors& got, const NamedTensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, expected[i].first);
    EXPECT_EQ(got[i].second.scalar_type(), expected[i].second.scalar_type());
    EXPECT_EQ(got[i].second.sizes(), expected[i].second.sizes());
    EXPECT_TRUE(got[i].second.to(at::kDouble).equal(expected[i].second.to(at::kDouble))) << got[i].first;
  }
}

TEST(PthWriter, RoundTripKeepsEverything) {
  expect_same(load_pth(own_bytes(encode_pth(tensors_for_torch())), "f").tensors, tensors_for_torch());
}

TEST(NpzWriter, RoundTripKeepsEverythingAndRefusesWhatNumpyLacks) {
  expect_same(load_npz(own_bytes(encode_npz(tensors_for_all())), "f").tensors, tensors_for_all());
  EXPECT_CONTAINS(testing::message_of([] { encode_npz(tensors_for_torch()); }), "NumPy has no type BFloat16");
}

// With TESSERA_INTEROP_OUT set, leaves its files there for tests/interop/check_weights_out.py.
TEST(PthWriter, FilesOpenInTheirLibraries) {
  testing::TempFolder temporary;
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  const std::filesystem::path folder = keep != nullptr ? std::filesystem::path(keep) / "weights" : temporary / "weights";
  std::filesystem::create_directories(folder);
  write_file(folder / "out.pth", encode_pth(tensors_for_torch()));
  write_file(folder / "out.safetensors", encode_safetensors(tensors_for_torch()));
  write_file(folder / "out.npz", encode_npz(tensors_for_all()));
  EXPECT_GT(std::filesystem::file_size(folder / "out.pth"), 0U);
}

}  // namespace
}  // namespace tessera
