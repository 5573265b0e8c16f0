#include "data/decode/color.h"

#include <utility>

#include "core/error.h"
#include "data/decode/stack_choice.h"

namespace tessera {
namespace {

// ITU-R 601 luma with weights in 1/65536, rounded to nearest.
uint8_t luma(uint8_t r, uint8_t g, uint8_t b) {
  return static_cast<uint8_t>((r * 19595U + g * 38470U + b * 7471U + 0x8000U) >> 16);
}
float luma(float r, float g, float b) {
  return (r * 19595.0F + g * 38470.0F + b * 7471.0F) / 65536.0F;
}

// What is left of the light after one ink and black: (max - ink) * (max - black) / max, in bytes rounded to nearest.
uint8_t through_ink(uint8_t ink, uint8_t black, float) {
  const unsigned light = 255U - black;
  const unsigned product = ink * light + 128U;
  return static_cast<uint8_t>(light - (((product >> 8) + product) >> 8));
}
float through_ink(float ink, float black, float max) {
  return (max - ink) * (max - black) / max;
}

// A new image of `channels` channels; make(from, to) fills one pixel.
template <class T, class Make>
Image remade(const Image& image, int channels, Make make) {
  Image out;
  out.height = image.height;
  out.width = image.width;
  out.channels = channels;
  out.max_value = image.max_value;
  std::vector<T> pixels(out.count());
  const T* from = std::get<std::vector<T>>(image.pixels).data();
  for (T *to = pixels.data(), *end = to + pixels.size(); to != end; to += channels, from += image.channels) make(from, to);
  out.pixels = std::move(pixels);
  return out;
}

template <class T>
Image grey_of(const Image& image, ColorKind kind) {
  if (kind == ColorKind::kGreyAlpha) return remade<T>(image, 1, [](const T* from, T* to) { to[0] = from[0]; });
  return remade<T>(image, 1, [](const T* from, T* to) { to[0] = luma(from[0], from[1], from[2]); });
}

template <class T>
Image rgb_of(const Image& image, ColorKind kind) {
  switch (kind) {
    case ColorKind::kCmyk:
      return remade<T>(image, 3, [max = image.max_value](const T* from, T* to) {
        for (int c = 0; c < 3; ++c) to[c] = through_ink(from[c], from[3], max);
      });
    case ColorKind::kRgba:
      return remade<T>(image, 3, [](const T* from, T* to) { to[0] = from[0], to[1] = from[1], to[2] = from[2]; });
    default: return remade<T>(image, 3, [](const T* from, T* to) { to[0] = to[1] = to[2] = from[0]; });
  }
}

Image looked_up(const Raster& raster) {
  const size_t colours = raster.palette.size();
  for (const uint8_t index : raster.image.bytes()) {
    TSR_CHECK(index < colours, "a pixel has palette index {}, the palette has {} colours; the file is damaged", index, colours);
  }
  return remade<uint8_t>(raster.image, 3, [&](const uint8_t* from, uint8_t* to) {
    const Color& color = raster.palette[*from];
    to[0] = color[0], to[1] = color[1], to[2] = color[2];
  });
}

// 0..1, 0..3 or 0..15 to 0..255; exact, since 255 is a multiple of each.
void stretch(Image& image, int bits) {
  const int factor = 255 / ((1 << bits) - 1);
  for (uint8_t& v : image.bytes()) v = static_cast<uint8_t>(v * factor);
}

// Transparency is no channel, and ink and palettes are colours.
int shown_channels(const Raster& raster) {
  switch (raster.kind) {
    case ColorKind::kGrey:
    case ColorKind::kGreyAlpha: return 1;
    case ColorKind::kStack: return raster.image.channels;
    default: return 3;
  }
}

template <class T>
Image converted(Image image, ColorKind kind, int channels, const StackShape& stack) {
  if (channels == image.channels) return image;
  if (channels == 3 && kind != ColorKind::kStack) return rgb_of<T>(image, kind);
  if (channels == 1 && kind == ColorKind::kCmyk) return grey_of<T>(rgb_of<T>(image, kind), ColorKind::kRgb);
  if (channels == 1 && kind != ColorKind::kStack) return grey_of<T>(image, kind);
  TSR_CHECK(stack.channels == 0, "expected {} channels (data.channels), the file gives {}: {}; set {}", channels,
            image.channels, contents_of(stack), settings_for(stack, channels));
  fail("expected {} channels, the file has {}; set data.channels to {} or convert the file", channels, image.channels,
       image.channels);
}

}  // namespace

Image to_channels(Raster raster, int channels) {
  if (channels == 0) channels = shown_channels(raster);
  if (raster.kind == ColorKind::kPalette) {
    raster.image = looked_up(raster);
    raster.kind = ColorKind::kRgb;
  } else if (raster.bits < 8) {
    stretch(raster.image, raster.bits);
  }
  if (raster.image.is_bytes()) return converted<uint8_t>(std::move(raster.image), raster.kind, channels, raster.stack);
  return converted<float>(std::move(raster.image), raster.kind, channels, raster.stack);
}

void remove_colors(Image& image) {
  std::visit(
      [&]<class T>(std::vector<T>& pixels) {
        for (T *at = pixels.data(), *end = at + pixels.size(); at != end; at += 3)
          at[0] = at[1] = at[2] = luma(at[0], at[1], at[2]);
      },
      image.pixels);
}

}  // namespace tessera
