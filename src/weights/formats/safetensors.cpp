#include "weights/formats/safetensors.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "weights/formats/sharded_safetensors.h"

namespace tessera {
namespace {

constexpr size_t kLengthBytes = 8;

constexpr std::array<std::pair<const char*, at::ScalarType>, 12> kTypes{{{"F64", at::kDouble},
                                                                         {"F32", at::kFloat},
                                                                         {"F16", at::kHalf},
                                                                         {"BF16", at::kBFloat16},
                                                                         {"I64", at::kLong},
                                                                         {"I32", at::kInt},
                                                                         {"I16", at::kShort},
                                                                         {"I8", at::kChar},
                                                                         {"U8", at::kByte},
                                                                         {"BOOL", at::kBool},
                                                                         {"F8_E4M3", at::kFloat8_e4m3fn},
                                                                         {"F8_E5M2", at::kFloat8_e5m2}}};

const char* type_name(at::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (type == known) return name;
  }
  fail("tensors of type {} cannot be stored as safetensors", at::toString(type));
}

}  // namespace

const at::Tensor* SafetensorsFile::find(const std::string& name) const {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

SafetensorsFile parse_safetensors(const std::vector<uint8_t>& bytes, const std::string& name) {
  LoadedFile loaded = load_safetensors({{bytes.data(), bytes.size()}, nullptr}, name);
  SafetensorsFile file{{}, std::move(loaded.metadata)};
  for (const auto& [key, tensor] : loaded.tensors) file.tensors.emplace_back(key, tensor.clone());  // the bytes may go
  return file;
}

std::vector<uint8_t> encode_safetensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const uint64_t bytes = tensor.nbytes();
    header[name] = {{"dtype", type_name(tensor.scalar_type())},
                    {"shape", tensor.sizes().vec()},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::vector<uint8_t> file(kLengthBytes + text.size() + offset);
  const uint64_t length = text.size();
  std::memcpy(file.data(), &length, kLengthBytes);
  std::memcpy(file.data() + kLengthBytes, text.data(), text.size());
  uint8_t* out = file.data() + kLengthBytes + text.size();
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor plain = tensor.cpu().contiguous();
    if (plain.nbytes() > 0) std::memcpy(out, plain.const_data_ptr(), plain.nbytes());
    out += plain.nbytes();
  }
  return file;
}

}  // namespace tessera
