#include "weights/safetensors.h"

#include <ATen/ops/empty.h>

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the format's own reader

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

at::ScalarType type_from(const std::string& text, const std::string& where) {
  for (const auto& [name, type] : kTypes) {
    if (text == name) return type;
  }
  fail("{}: unknown element type '{}'", where, text);
}

const char* type_name(at::ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (type == known) return name;
  }
  fail("tensors of type {} cannot be stored as safetensors", at::toString(type));
}

at::Tensor read_tensor(const json& entry, const uint8_t* data, uint64_t size, const std::string& where) {
  TSR_CHECK(entry.is_object() && entry.contains("dtype") && entry.contains("shape") && entry.contains("data_offsets"),
            "{}: expected dtype, shape and data_offsets", where);
  const at::ScalarType type = type_from(entry.at("dtype").get<std::string>(), where);
  const auto shape = entry.at("shape").get<std::vector<int64_t>>();
  const auto offsets = entry.at("data_offsets").get<std::vector<uint64_t>>();
  TSR_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= size,
            "{}: its data lies outside the file ({} bytes of data)", where, size);
  uint64_t bytes = c10::elementSize(type);
  for (const int64_t side : shape) {
    TSR_CHECK(side >= 0 && (side == 0 || bytes <= (uint64_t{1} << 50) / static_cast<uint64_t>(side)), "{}: impossible shape",
              where);
    bytes *= static_cast<uint64_t>(side);
  }
  TSR_CHECK(bytes == offsets[1] - offsets[0], "{}: its shape needs {} bytes, the file gives it {}", where, bytes,
            offsets[1] - offsets[0]);
  at::Tensor tensor = at::empty(shape, at::TensorOptions(type));
  if (bytes > 0) std::memcpy(tensor.mutable_data_ptr(), data + offsets[0], bytes);
  return tensor;
}

}  // namespace

const at::Tensor* SafetensorsFile::find(const std::string& name) const {
  for (const auto& [key, tensor] : tensors) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

SafetensorsFile parse_safetensors(const std::vector<uint8_t>& bytes, const std::string& name) {
  TSR_CHECK(bytes.size() >= kLengthBytes, "{} is not a safetensors file: it has {} bytes", name, bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  TSR_CHECK(length <= kLargestHeader && length <= bytes.size() - kLengthBytes,
            "{} is truncated or not a safetensors file: it announces a header of {} bytes and has {}", name, length,
            bytes.size());
  SafetensorsFile file;
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
    const auto header = nlohmann::ordered_json::parse(text, text + length);
    TSR_CHECK(header.is_object(), "{}: its header is not a JSON object", name);
    const uint8_t* data = bytes.data() + kLengthBytes + length;
    const uint64_t size = bytes.size() - kLengthBytes - length;
    for (const auto& [key, entry] : header.items()) {
      if (key == "__metadata__") {
        file.metadata = entry.get<std::map<std::string, std::string>>();
      } else {
        file.tensors.emplace_back(key, read_tensor(entry, data, size, name + ": tensor '" + key + "'"));
      }
    }
  } catch (const nlohmann::json::exception& e) {
    fail("{}: broken safetensors header: {}", name, e.what());
  }
  return file;
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  return parse_safetensors(read_bytes(path), path.string());
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
