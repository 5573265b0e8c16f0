#pragma once
#include <ATen/ATen.h>

#include "support/messages.h"
#include "support/pillow.h"
#include "support/zip_files.h"

// Files of tests/interop/make_weight_files.py, the values in them, and hand-made ones that no library would write.
namespace tessera::testing {

inline Blob weight_file(const std::string& name) {
  static const nlohmann::json all = load_fixture("weight_files.json");
  return own_bytes(from_base64(all.at(name).get<std::string>()));
}

// Element i of tensor k is ((7 i + 11 k) mod 31 - 15) / 8.
inline at::Tensor weight_values(at::IntArrayRef shape, int64_t k, at::ScalarType type = at::kFloat) {
  const at::Tensor i = at::arange(c10::multiply_integers(shape), at::kLong);
  return (((i * 7 + 11 * k) % 31 - 15).to(at::kDouble) / 8).view(shape).to(type);
}

// A .pth of this pickle and one storage "0" of `data_bytes` bytes.
inline Blob handmade_pth(std::string_view pickle, size_t data_bytes = 16) {
  ZipWriter zip;
  zip.add("archive/data.pkl", bytes_of(pickle));
  zip.add("archive/data/0", std::vector<uint8_t>(data_bytes), 64);
  return own_bytes(zip.finish());
}

inline std::string pickle_long(int64_t value) {
  std::string text = "\x8a\x08";
  for (int i = 0; i < 8; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

// {"w": a float tensor with one axis}, as torch.save would pickle it.
inline std::string tensor_pickle(int64_t count, int64_t offset, int64_t size, int64_t stride) {
  using namespace std::string_literals;
  return "\x80\x02}(X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\0"s +
         "0X\x03\0\0\0cpu"s + pickle_long(count) + "tQ"s + pickle_long(offset) + "("s + pickle_long(size) + "t("s +
         pickle_long(stride) + "t\x89}tRu."s;
}

}  // namespace tessera::testing
