#include "data/batch/image_statistics.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "data/batch/stored_pixels.h"

namespace tessera {
namespace {

// Values of an image that are computed with at once; more are taken in bands of rows.
constexpr int64_t kMeanAtOnce = int64_t{1} << 26;
constexpr int64_t kSortedAtOnce = int64_t{1} << 22;  // a sort needs six times the memory
constexpr int64_t kBandValues = int64_t{1} << 22;

// One image as bands of rows, (1, rows, W, channels) each, in floats.
class Bands {
 public:
  Bands(at::Tensor image, int64_t channels) : image_(std::move(image)), channels_(channels) {}

  int64_t count() const { return image_.size(1) * image_.size(2) * channels_; }

  void each(const std::function<void(const at::Tensor& values)>& take) const {
    const int64_t rows = std::max<int64_t>(1, kBandValues / (image_.size(2) * channels_));
    for (int64_t y = 0; y < image_.size(1); y += rows) {
      take(network_pixels(image_.narrow(1, y, std::min(rows, image_.size(1) - y)), channels_).to(at::kFloat).flatten());
    }
  }

 private:
  at::Tensor image_;
  int64_t channels_;
};

// Whole numbers in the order of the floats: the bits themselves, those of negative numbers turned round.
at::Tensor ordered_bits(const at::Tensor& values) {
  const at::Tensor bits = values.view(at::kInt);
  return bits.bitwise_xor(bits.bitwise_right_shift(31).bitwise_and(0x7FFFFFFF));
}

// The value that would stand at `rank` of all values if they were sorted. Counts by the upper 16 bits first, then by the lower
// ones of those that share the upper.
float at_rank(const Bands& bands, int64_t rank) {
  constexpr int64_t kHalf = 1 << 16;
  const auto find = [&](const at::Tensor& counts) {
    const at::Tensor up_to = counts.cumsum(0);
    const auto found = at::searchsorted(up_to, rank, /*out_int32=*/false, /*right=*/true).item<int64_t>();
    if (found > 0) rank -= up_to[found - 1].item<int64_t>();
    return found;
  };
  at::Tensor counts = at::zeros({kHalf}, at::kLong);
  bands.each([&](const at::Tensor& values) {
    counts += at::bincount(ordered_bits(values).bitwise_right_shift(16).add_(kHalf / 2), {}, kHalf).cpu();
  });
  const int64_t upper = find(counts) - kHalf / 2;
  counts.zero_();
  bands.each([&](const at::Tensor& values) {
    const at::Tensor bits = ordered_bits(values);
    const at::Tensor own = bits.masked_select(bits.bitwise_right_shift(16) == upper).bitwise_and(kHalf - 1);
    if (own.numel() > 0) counts += at::bincount(own, {}, kHalf).cpu();
  });
  const at::Tensor bits = at::scalar_tensor(upper * kHalf + find(counts), at::kInt);
  return bits.bitwise_xor(bits.bitwise_right_shift(31).bitwise_and(0x7FFFFFFF)).view(at::kFloat).item<float>();
}

struct Numbers {
  double shift, range;
};

Numbers mean_and_deviation(const Bands& bands) {
  double sum = 0, squares = 0;
  bands.each([&](const at::Tensor& values) { sum += values.sum(at::kDouble).item<double>(); });
  const double mean = sum / static_cast<double>(bands.count());
  bands.each([&](const at::Tensor& values) { squares += (values.to(at::kDouble) - mean).square_().sum().item<double>(); });
  return {mean, std::sqrt(squares / static_cast<double>(bands.count() - 1))};
}

ImageStatistics clamped(at::Tensor shift, const at::Tensor& range, float max_value) {
  return {shift.view({-1, 1, 1, 1}), range.clamp_min(1e-6 * max_value).view({-1, 1, 1, 1})};
}

}  // namespace

ImageStatistics ImageStatistics::of(const std::vector<int64_t>& images) const {
  if (!defined()) return {};
  const at::Tensor index = at::tensor(images, at::kLong).to(shift.device());
  return {shift.index_select(0, index), range.index_select(0, index)};
}

ImageStatistics image_statistics(const at::Tensor& images, int64_t channels, float max_value, const NormalizeConfig& config,
                                 at::ScalarType type) {
  if (acts_per_pixel(config.mode)) return {};
  const bool percentiles = config.mode == NormalizeMode::kPercentile;
  const int64_t values = images.size(1) * images.size(2) * channels;
  // Order statistics rather than interpolated quantiles: exact, any size.
  const auto rank = [&](double share) { return static_cast<int64_t>(share * static_cast<double>(values - 1)); };
  if (values <= (percentiles ? kSortedAtOnce : kMeanAtOnce)) {
    const at::Tensor flat = network_pixels(images, channels).to(type).flatten(1);
    if (!percentiles) return clamped(flat.mean(1), flat.std(1), max_value);
    const at::Tensor sorted = std::get<0>(flat.sort(1));
    const at::Tensor low = sorted.select(1, rank(config.low)), high = sorted.select(1, rank(config.high));
    return clamped(low, high - low, max_value);
  }
  std::vector<double> shifts, tops;
  for (int64_t i = 0; i < images.size(0); ++i) {
    const Bands bands(images.narrow(0, i, 1), channels);
    const Numbers found =
        percentiles ? Numbers{at_rank(bands, rank(config.low)), at_rank(bands, rank(config.high))} : mean_and_deviation(bands);
    shifts.push_back(found.shift);
    tops.push_back(found.range);
  }
  const at::TensorOptions options = at::TensorOptions(type).device(images.device());
  const at::Tensor shift = at::tensor(shifts, at::kDouble).to(options), top = at::tensor(tops, at::kDouble).to(options);
  return clamped(shift, percentiles ? top - shift : top, max_value);
}

}  // namespace tessera
