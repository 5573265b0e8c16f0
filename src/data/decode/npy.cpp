#include "data/decode/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/npy_header.h"

namespace tessera {
namespace {

constexpr int64_t kLargestLabel = 65535;

struct Axis {
  int64_t size = 1;
  int64_t stride = 0;  // in elements
};

struct Array {
  Element type;
  Axis height, width, channels;
  const uint8_t* data;

  template <class T>
  T at(int64_t y, int64_t x, int64_t c) const {
    T value;
    const int64_t place = y * height.stride + x * width.stride + c * channels.stride;
    std::memcpy(&value, data + static_cast<size_t>(place) * sizeof value, sizeof value);
    return value;
  }
};

Array read_array(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const NpyHeader header = parse_npy_header(bytes, "NumPy file");
  const std::vector<int64_t>& sizes = header.sizes;
  TSR_CHECK(sizes.size() == 2 || sizes.size() == 3,
            "NumPy file has the shape ({}): expected (height, width), (height, width, channels) or (channels, height, width)",
            fmt::join(sizes, ", "));
  const auto axis = [&](size_t i) { return Axis{sizes[i], header.strides[i]}; };
  Array array{header.type, axis(0), axis(1), {}, bytes.data() + header.offset};
  if (sizes.size() == 3 && sizes[2] <= sizes[0]) array.channels = axis(2);
  if (sizes.size() == 3 && sizes[2] > sizes[0]) array.channels = axis(0), array.height = axis(1), array.width = axis(2);
  const auto channels = static_cast<uint64_t>(array.channels.size);
  check_dimensions("NumPy file", static_cast<uint64_t>(array.width.size), static_cast<uint64_t>(array.height.size), channels,
                   sizeof(float), max_pixels);
  TSR_CHECK(channels <= kMaxChannels, "NumPy file has the shape ({}): expected up to {} channels", fmt::join(sizes, ", "),
            kMaxChannels);
  return array;
}

// Calls store(pixel index, value) for all values in the order of an Image.
template <class T, class Store>
void each_value(const Array& array, Store store) {
  size_t i = 0;
  for (int64_t y = 0; y < array.height.size; ++y) {
    for (int64_t x = 0; x < array.width.size; ++x) {
      for (int64_t c = 0; c < array.channels.size; ++c) store(i++, array.at<T>(y, x, c));
    }
  }
}

template <class From, class To>
std::vector<To> values_as(const Array& array, size_t count) {
  std::vector<To> out(count);
  each_value<From>(array, [&](size_t i, From value) { out[i] = static_cast<To>(value); });
  return out;
}

Raster blank_raster(const Array& array) {
  Raster raster;
  raster.image.height = static_cast<int>(array.height.size);
  raster.image.width = static_cast<int>(array.width.size);
  raster.image.channels = static_cast<int>(array.channels.size);
  const int channels = raster.image.channels;
  raster.kind = channels == 1 ? ColorKind::kGrey : channels == 3 ? ColorKind::kRgb : ColorKind::kStack;
  raster.bits = 8 * static_cast<int>(size_of(array.type));
  return raster;
}

// Unsigned and signed integers of more than 8 bits, or signed ones.
template <class T>
void store_integers(const Array& array, Raster& raster) {
  raster.image.pixels = values_as<T, float>(array, raster.image.count());
  raster.image.max_value = static_cast<float>(std::numeric_limits<T>::max());
  raster.with_sign = std::numeric_limits<T>::is_signed;
}

template <class T>
Raster labels_of(const Array& array) {
  Raster raster = blank_raster(array);
  std::vector<float> labels(raster.image.count());
  const auto width = static_cast<size_t>(array.width.size * array.channels.size);
  int64_t largest = 0;
  each_value<T>(array, [&](size_t i, T value) {
    TSR_CHECK(std::cmp_greater_equal(value, 0) && std::cmp_less_equal(value, kLargestLabel),
              "label {} at (y {}, x {}): expected 0 to {}; store 255 for pixels that are not labelled", value, i / width,
              i % width / static_cast<size_t>(array.channels.size), kLargestLabel);
    labels[i] = static_cast<float>(value);
    largest = std::max(largest, static_cast<int64_t>(value));
  });
  raster.bits = largest > 255 || array.type == Element::kUInt16 ? 16 : 8;
  raster.image.max_value = static_cast<float>(kLargestLabel);
  raster.image.pixels = std::move(labels);
  return raster;
}

}  // namespace

Raster decode_npy(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const Array array = read_array(bytes, max_pixels);
  Raster raster = blank_raster(array);
  const size_t count = raster.image.count();
  switch (array.type) {
    case Element::kBool:
      raster.image.pixels = values_as<uint8_t, uint8_t>(array, count);
      for (uint8_t& value : raster.image.bytes()) value = value != 0 ? 1 : 0;
      raster.bits = 1;
      break;
    case Element::kUInt8: raster.image.pixels = values_as<uint8_t, uint8_t>(array, count); break;
    case Element::kInt8: store_integers<int8_t>(array, raster); break;
    case Element::kUInt16: store_integers<uint16_t>(array, raster); break;
    case Element::kInt16: store_integers<int16_t>(array, raster); break;
    case Element::kUInt32: store_integers<uint32_t>(array, raster); break;
    case Element::kInt32: store_integers<int32_t>(array, raster); break;
    case Element::kFloat32:
      raster.image.pixels = values_as<float, float>(array, count);
      raster.image.max_value = 1;
      break;
    case Element::kFloat64:
      raster.image.pixels = values_as<double, float>(array, count);
      raster.image.max_value = 1;
      break;
    default:
      fail(
          "NumPy file holds {}: expected uint8, uint16, float32 or the like for an image; convert it, for example with "
          "numpy.save(name, array.astype(numpy.uint8))",
          names_of(array.type).dtype);
  }
  return raster;
}

Raster decode_npy_labels(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const Array array = read_array(bytes, max_pixels);
  switch (array.type) {
    case Element::kBool:
    case Element::kUInt8: return decode_npy(bytes, max_pixels);
    case Element::kInt8: return labels_of<int8_t>(array);
    case Element::kUInt16: return labels_of<uint16_t>(array);
    case Element::kInt16: return labels_of<int16_t>(array);
    case Element::kUInt32: return labels_of<uint32_t>(array);
    case Element::kInt32: return labels_of<int32_t>(array);
    case Element::kUInt64: return labels_of<uint64_t>(array);
    case Element::kInt64: return labels_of<int64_t>(array);
    default:
      fail(
          "the mask is a NumPy file of {}: expected integers or bool; convert it, for example with "
          "numpy.save(name, array.astype(numpy.uint8))",
          names_of(array.type).dtype);
  }
}

}  // namespace tessera
