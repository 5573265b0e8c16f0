#include "weights/formats/safetensors_header.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the format's own reader

uint64_t header_length(std::span<const uint8_t> bytes) {
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

// Only whole numbers: a float or a negative one would be converted silently.
std::vector<uint64_t> whole_numbers(const Json& entry, const char* field, const std::string& where) {
  TSR_CHECK(entry.is_object() && entry.contains(field) && entry.at(field).is_array() && entry.at(field).size() <= kMostAxes,
            "{}: expected dtype, shape and data_offsets", where);
  std::vector<uint64_t> numbers;
  for (const Json& one : entry.at(field)) {
    TSR_CHECK(one.is_number_unsigned() && one.get<uint64_t>() <= uint64_t{kLargestCount}, "{}: impossible {}", where, field);
    numbers.push_back(one.get<uint64_t>());
  }
  return numbers;
}

SafetensorsHeader::Entry read_entry(const std::string& name, const Json& entry, uint64_t start, uint64_t size,
                                    const std::string& where) {
  const auto shape = whole_numbers(entry, "shape", where);
  const auto offsets = whole_numbers(entry, "data_offsets", where);
  TSR_CHECK(entry.contains("dtype") && entry.at("dtype").is_string(), "{}: expected dtype, shape and data_offsets", where);
  const std::string& word = entry.at("dtype").get_ref<const std::string&>();
  const auto type = find_element(&ElementNames::safetensors, word);
  TSR_CHECK(type.has_value(), "{}: unknown element type '{}'", where, word);
  TSR_CHECK(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= size,
            "{}: its data lies outside the file ({} bytes of data)", where, size);
  uint64_t bytes = size_of(*type);
  for (const uint64_t side : shape) {
    TSR_CHECK(side == 0 || bytes <= uint64_t{kLargestCount} / side, "{}: impossible shape", where);
    bytes *= side;
  }
  TSR_CHECK(bytes == offsets[1] - offsets[0], "{}: its shape needs {} bytes, the file gives it {}", where, bytes,
            offsets[1] - offsets[0]);
  return {name, *type, {shape.begin(), shape.end()}, start + offsets[0], bytes};
}

}  // namespace

bool looks_like_safetensors(std::span<const uint8_t> bytes) {
  return bytes.size() > kLengthBytes && header_length(bytes) <= kLargestHeader && bytes[kLengthBytes] == '{';
}

SafetensorsHeader parse_safetensors_header(std::span<const uint8_t> bytes, const std::string& name) {
  TSR_CHECK(bytes.size() >= kLengthBytes, "{} is not a safetensors file: it has {} bytes", name, bytes.size());
  const uint64_t length = header_length(bytes);
  TSR_CHECK(length <= kLargestHeader && length <= bytes.size() - kLengthBytes,
            "{} is truncated or not a safetensors file: it announces a header of {} bytes and has {}", name, length,
            bytes.size());
  SafetensorsHeader header;
  std::set<std::string> names;
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
    const Json table = Json::parse(text, text + length);
    TSR_CHECK(table.is_object(), "{}: its header is not a JSON object", name);
    const uint64_t start = kLengthBytes + length;
    for (const auto& [key, entry] : table.items()) {
      if (key == "__metadata__") {
        header.metadata = entry.get<std::map<std::string, std::string>>();
        continue;
      }
      TSR_CHECK(names.insert(key).second, "{}: two tensors are called '{}'", name, key);
      header.tensors.push_back(read_entry(key, entry, start, bytes.size() - start, name + ": tensor '" + key + "'"));
    }
  } catch (const nlohmann::json::exception& e) {
    fail("{}: broken safetensors header: {}", name, e.what());
  }
  return header;
}

}  // namespace tessera
