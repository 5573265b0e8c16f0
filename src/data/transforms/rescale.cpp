#include "data/transforms/rescale.h"

#include "core/error.h"

namespace tessera {
namespace {

template <class T>
std::vector<float> rescaled(const std::vector<T>& pixels, const std::vector<float>& low, const std::vector<float>& span) {
  std::vector<float> out(pixels.size());
  const size_t channels = low.size();
  for (size_t at = 0; at < pixels.size(); at += channels) {
    for (size_t c = 0; c < channels; ++c) out[at + c] = (static_cast<float>(pixels[at + c]) - low[c]) / span[c];
  }
  return out;
}

}  // namespace

void Rescale::apply(Sample& sample, Rng /*rng*/) const {
  Image& image = sample.image;
  const auto channels = static_cast<size_t>(image.channels);
  const auto fits = [&](const std::vector<double>& values) { return values.size() == 1 || values.size() == channels; };
  TSR_CHECK(fits(low_) && fits(high_), "data.normalize has {} low_value and {} high_value, the image {} channels", low_.size(),
            high_.size(), channels);
  std::vector<float> low(channels), span(channels);
  for (size_t c = 0; c < channels; ++c) {
    const double bottom = low_[low_.size() == 1 ? 0 : c], top = high_[high_.size() == 1 ? 0 : c];
    low[c] = static_cast<float>(bottom);
    span[c] = static_cast<float>(top - bottom);
  }
  image.pixels = std::visit([&](const auto& pixels) { return rescaled(pixels, low, span); }, image.pixels);
  image.max_value = 1;
}

}  // namespace tessera
