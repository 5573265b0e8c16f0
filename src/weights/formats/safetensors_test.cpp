#include "weights/formats/safetensors.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<uint8_t> with_header(const std::string& header, size_t data_bytes) {
  std::vector<uint8_t> bytes(8 + header.size() + data_bytes);
  const uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string complaint(const std::vector<uint8_t>& bytes) {
  return testing::message_of([&] { parse_safetensors(bytes, "f"); });
}

TEST(Safetensors, RoundTripKeepsTypesShapesOrderAndMetadata) {
  const NamedTensors tensors{{"b", at::arange(6).view({2, 3})},
                             {"a", at::ones({2, 2, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast).to(at::kBFloat16)},
                             {"empty", at::empty({0, 4})},
                             {"scalar", at::scalar_tensor(2.5, at::kDouble)}};
  const auto file = parse_safetensors(encode_safetensors(tensors, {{"format", "pt"}}), "f");
  ASSERT_EQ(file.tensors.size(), 4U);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(file.tensors[i].first, tensors[i].first);
    EXPECT_EQ(file.tensors[i].second.scalar_type(), tensors[i].second.scalar_type());
    EXPECT_TRUE(file.tensors[i].second.equal(tensors[i].second));
  }
  EXPECT_EQ(file.metadata.at("format"), "pt");
  EXPECT_EQ(file.find("nothing"), nullptr);
}

TEST(Safetensors, LyingFilesAreRefused) {
  EXPECT_NE(complaint({1, 2, 3}).find("has 3 bytes"), std::string::npos);
  EXPECT_NE(complaint(std::vector<uint8_t>(64, 0xFF)).find("truncated"), std::string::npos);
  EXPECT_NE(complaint(with_header("{\"x\":", 0)).find("broken safetensors header"), std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 8)).find("outside the file"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)).find("needs 12 bytes"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8)).find("impossible shape"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"F32","shape":[9999999999,9999999999],"data_offsets":[0,8]}})", 8))
                .find("impossible shape"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"Q7","shape":[1],"data_offsets":[0,4]}})", 8)).find("unknown element type"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":{"dtype":"F32","shape":"no","data_offsets":[0,4]}})", 8)).find("expected dtype"),
            std::string::npos);
  EXPECT_NE(complaint(with_header(R"({"x":7})", 8)).find("expected dtype"), std::string::npos);
}

}  // namespace
}  // namespace tessera
