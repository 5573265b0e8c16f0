#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/image.h"
#include "support/fixtures.h"

namespace tessera::testing {

inline std::vector<uint8_t> from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int held = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    held += 6;
    if (held >= 8) bytes.push_back(static_cast<uint8_t>(bits >> (held -= 8)));
  }
  return bytes;
}

// Little-endian numbers, as all machines we test on have them.
template <class T>
std::vector<T> numbers(const nlohmann::json& base64) {
  const std::vector<uint8_t> bytes = from_base64(base64.get<std::string>());
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// A file that a fixture holds, by its group and name.
inline std::vector<uint8_t> file_in(const std::string& fixture, const std::string& group, const std::string& name) {
  const nlohmann::json all = load_fixture(fixture);
  for (const auto& entry : all.at(group)) {
    if (entry.at("name") == name) return numbers<uint8_t>(entry.at("file"));
  }
  throw std::runtime_error("no fixture file " + name);
}

// Of make_pillow.py, e.g. ("decode", "images", "jpeg_420"), and of make_formats.py, e.g. ("dicom", "dicom_16").
inline std::vector<uint8_t> pillow_file(const std::string& fixture, const std::string& group, const std::string& name) {
  return file_in("pillow/" + fixture + ".json", group, name);
}
inline std::vector<uint8_t> formats_file(const std::string& group, const std::string& name) {
  return file_in("formats.json", group, name);
}
inline std::vector<uint8_t> pillow_image(const std::string& name) {
  return pillow_file("decode", "images", name);
}

// The picture the fixture is made from: the same formula as `pattern` in make_pillow.py.
inline Image pattern(int channels, int height = 17, int width = 22) {
  Image image(height, width, channels);
  auto to = image.bytes().begin();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        *to++ = static_cast<uint8_t>((x * 9 + y * 5 + c * 60 + x * y * (c + 1) % 13 * 6) % 256);
    }
  }
  return image;
}

}  // namespace tessera::testing
