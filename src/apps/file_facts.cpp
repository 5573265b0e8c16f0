#include "apps/file_facts.h"

#include <type_traits>
#include <utility>

#include "data/datasets/load_sample.h"

namespace tessera {

Image thinned(const StoredImage& image) {
  constexpr size_t kPixels = size_t{1} << 20;
  const size_t pixels = static_cast<size_t>(image.height) * static_cast<size_t>(image.width), step = pixels / kPixels + 1;
  const auto channels = static_cast<size_t>(image.channels);
  Image chosen(1, static_cast<int>((pixels + step - 1) / step), image.channels);
  chosen.max_value = image.max_value;
  std::visit(
      [&]<class T>(const std::vector<T>& values) {
        using Kept = std::conditional_t<std::is_same_v<T, uint8_t>, uint8_t, float>;
        std::vector<Kept> kept;
        for (size_t i = 0; i < pixels; i += step) {
          for (size_t c = 0; c < channels; ++c) kept.push_back(static_cast<Kept>(values[i * channels + c]));
        }
        chosen.pixels = std::move(kept);
      },
      image.pixels);
  return chosen;
}

ImageFacts facts_of_file(const std::vector<uint8_t>& bytes, const Image& image, const DataConfig& data) {
  const ImageLook read = look_at_image("", image);
  ImageFacts facts = facts_of(std::span(&read, 1));
  if (data.channels != 1) return facts;
  DecodeOptions options = decode_options(data);
  options.channels = 0;
  facts.channels = thinned(decode_stored(bytes, options)).channels;
  return facts;
}

}  // namespace tessera
