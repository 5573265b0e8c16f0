#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tessera {

struct Size {
  int height = 0;
  int width = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Pixels, interleaved: value (y, x, c) is at (y * width + x) * channels + c. 8-bit files stay bytes; everything deeper
// (16-bit, 32-bit, float) is float in the file's own range, whose top is `max_value` (65535 for 16-bit, 1 for float).
struct Image {
  int height = 0;
  int width = 0;
  int channels = 0;
  float max_value = 255.0F;
  std::variant<std::vector<uint8_t>, std::vector<float>> pixels;

  Image() = default;
  Image(int h, int w, int c) : height(h), width(w), channels(c), pixels(std::vector<uint8_t>(count())) {}

  size_t count() const { return static_cast<size_t>(height) * static_cast<size_t>(width) * static_cast<size_t>(channels); }
  Size size() const { return {height, width}; }
  bool is_bytes() const { return std::holds_alternative<std::vector<uint8_t>>(pixels); }
  std::vector<uint8_t>& bytes() { return std::get<std::vector<uint8_t>>(pixels); }
  const std::vector<uint8_t>& bytes() const { return std::get<std::vector<uint8_t>>(pixels); }
  std::vector<float>& floats() { return std::get<std::vector<float>>(pixels); }
  const std::vector<float>& floats() const { return std::get<std::vector<float>>(pixels); }
};

// What is done to the colours of one image, already drawn; the neutral values change nothing.
struct ColorChange {
  double brightness = 0;  // added, as a share of the range
  double contrast = 1;    // factor of the values
  bool contrast_last = false;
  double saturation = 1;  // factor of S in HSV; RGB only
  double hue = 0;         // degrees; RGB only
};

// The class of a pixel that counts in no loss and no metric.
inline constexpr int16_t kIgnoreLabel = -1;

// A class per pixel: 0 .. num_classes - 1 or kIgnoreLabel. Of classes that overlap, a set of them: Note [Multi-label maps].
struct LabelMap {
  int height = 0;
  int width = 0;
  std::vector<int16_t> labels;

  LabelMap() = default;
  LabelMap(int h, int w, int16_t fill = 0)
      : height(h), width(w), labels(static_cast<size_t>(h) * static_cast<size_t>(w), fill) {}
  Size size() const { return {height, width}; }
  int16_t& at(int y, int x) { return labels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)]; }
  int16_t at(int y, int x) const {
    return labels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

using Color = std::array<uint8_t, 3>;

// The classes of a data set: their names and the colours they are drawn in.
struct ClassTable {
  std::vector<std::string> names;
  std::vector<Color> palette;
  bool multi_label = false;  // a pixel may be of several of them or of none: Note [Multi-label maps]
  int size() const { return static_cast<int>(names.size()); }
};

}  // namespace tessera
