#pragma once
#include <array>
#include <span>
#include <variant>
#include <vector>

#include "core/image.h"
#include "data/decode/stored_image.h"

namespace tessera {

// An image as 8-bit RGB for the eye, row by row: one or two channels as grey, more by their first three. Bytes of up to four
// channels stay as they are. Deeper values, and the bytes of a stack of channels, are stretched from their 0.2nd to
// their 99.8th percentile (a flat image: by max_value), so that a few hot pixels do not leave the rest dark; a stack's channels
// one by one.
class DisplayRows {
 public:
  // The image must outlive this.
  DisplayRows(const Image& image);        // NOLINT(google-explicit-constructor): either is shown as it is
  DisplayRows(const StoredImage& image);  // NOLINT(google-explicit-constructor)

  Size size() const { return size_; }

  void row(int y, uint8_t* to) const;  // width * 3 bytes

 private:
  // Value to 0..255: value * scale + shift.
  struct Stretch {
    float scale = 1;
    float shift = 0;
  };
  void find_stretches(float max_value);
  Stretch stretch_of(int first, int count, float max_value) const;

  Size size_;
  int channels_;
  std::variant<std::span<const uint8_t>, std::span<const float>, std::span<const uint16_t>> pixels_;
  int shown_ = 1;  // channels
  bool as_is_ = true;
  std::array<Stretch, 3> stretches_{};
};

// All rows.
Image to_display(const DisplayRows& image);

// A darker shade of a colour or, of a dark one, a brighter one: for lines that must be told from areas in that colour.
Color line_color(const Color& color);

struct OverlayStyle {
  float alpha = 0.45F;                // 0 shows the image, 1 flat class colours
  int line = 1;                       // pixels
  bool outlines_only = false;         // the image, and lines in the classes' colours along the inside of each region
  int16_t background = kIgnoreLabel;  // of such outlines: the class that gets none
};

// One to three pixels: a line that is seen where the picture is shown as a whole.
int line_width(Size size);

// The labels laid over the image, row by row. Where two classes meet runs a line in a darker (or, for dark colours, brighter)
// shade of the class, so that shapes read well. Ignored pixels show the image. Throws Error when the sizes differ or a label
// has no colour.
class OverlayRows {
 public:
  // What is drawn on, the labels and the palette must outlive this.
  OverlayRows(const DisplayRows& image, const LabelMap& labels, const std::vector<Color>& palette, const OverlayStyle& style);

  void row(int y, uint8_t* to) const;  // width * 3 bytes

 private:
  bool on_line(int y, int x) const;

  DisplayRows display_;
  const LabelMap& labels_;
  const std::vector<Color>& palette_;
  OverlayStyle style_;
};

// All rows, with lines of one pixel.
Image overlay(const Image& image, const LabelMap& labels, const std::vector<Color>& palette, float alpha);

}  // namespace tessera
