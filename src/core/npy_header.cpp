#include "core/npy_header.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "core/byte_reader.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// The text after `'key':` in the header, which is a Python dict such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
std::string_view value_of(std::string_view header, std::string_view key, const std::string& name) {
  const size_t at = header.find(key);
  TSR_CHECK(at != std::string_view::npos, "{}: its NumPy header has no {}", name, key);
  std::string_view rest = header.substr(at + key.size());
  rest.remove_prefix(std::min(rest.find_first_not_of("': "), rest.size()));
  return rest;
}

std::vector<int64_t> read_shape(std::string_view text, const std::string& name) {
  TSR_CHECK(text.starts_with('(') && text.find(')') != std::string_view::npos, "{}: its NumPy header has no shape", name);
  text = text.substr(1, text.find(')') - 1);
  std::vector<int64_t> sizes;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" ,"), text.size()));
    if (text.empty()) return sizes;
    int64_t side = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
    TSR_CHECK(error == std::errc() && side >= 0 && side <= kLargestCount && sizes.size() < kMostAxes, "{}: impossible shape",
              name);
    sizes.push_back(side);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
}

}  // namespace

bool looks_like_npy(std::span<const uint8_t> bytes) {
  return bytes.size() >= kMagic.size() && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0;
}

NpyHeader parse_npy_header(std::span<const uint8_t> file, const std::string& name) {
  TSR_CHECK(looks_like_npy(file), "{} is not a NumPy array", name);
  ByteReader in(file, name);
  in.skip(kMagic.size());
  const auto version = in.number<uint8_t>();
  in.skip(1);
  TSR_CHECK(version >= 1 && version <= 3, "{}: version {} of the NumPy format is not known (1 to 3 are)", name, version);
  const std::string_view header = in.text(version == 1 ? in.number<uint16_t>() : in.number<uint32_t>());

  NpyHeader out{};
  // Structured types have a list here instead of a word, and find no closing quote that makes sense.
  std::string_view word = value_of(header, "'descr'", name);
  word = word.substr(0, word.find('\''));
  const auto type = element_of_numpy(word);
  TSR_CHECK(type.has_value(), "{}: arrays of type '{}' cannot be read; save little-endian numbers", name, word.substr(0, 40));
  out.type = *type;
  const bool fortran = value_of(header, "'fortran_order'", name).starts_with("True");
  out.sizes = read_shape(value_of(header, "'shape'", name), name);

  out.strides.resize(out.sizes.size());
  int64_t count = 1, stride = 1;
  for (size_t i = 0; i < out.sizes.size(); ++i) {
    const size_t axis = fortran ? i : out.sizes.size() - 1 - i;
    out.strides[axis] = stride;
    TSR_CHECK(out.sizes[axis] == 0 || stride <= kLargestCount / out.sizes[axis], "{}: impossible shape", name);
    count *= out.sizes[axis];
    stride *= std::max<int64_t>(out.sizes[axis], 1);
  }
  out.offset = in.position();
  out.bytes = static_cast<size_t>(count) * size_of(out.type);
  TSR_CHECK(out.bytes == in.left(), "{}: its shape needs {} bytes, the file has {}", name, out.bytes, in.left());
  return out;
}

}  // namespace tessera
