#include "data/batch/sampler.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<int64_t> shuffled(int64_t size, Rng rng) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(static_cast<uint32_t>(i))]);
  return order;
}

}  // namespace

Sampler::Sampler(int64_t size, int64_t batch_size, uint64_t seed) : size_(size), batch_size_(batch_size), seed_(seed) {
  TSR_CHECK(size > 0, "the training set is empty");
  batches_per_epoch_ = (size + batch_size - 1) / batch_size;
}

const std::vector<int64_t>& Sampler::order(int64_t epoch) {
  if (epoch == cached_epoch_) return cached_;
  cached_ = shuffled(size_, Rng(seed_, Stream::kOrder, static_cast<uint64_t>(epoch)));
  cached_epoch_ = epoch;
  return cached_;
}

std::vector<Pick> Sampler::batch(int64_t step) {
  const auto& all = order(step / batches_per_epoch_);
  const int64_t first = step % batches_per_epoch_ * batch_size_;
  std::vector<Pick> picked;
  for (int64_t i = first; i < first + batch_size_; ++i) {
    const int64_t index = all[i % size_];
    picked.push_back({index, index + i / size_ * size_});
  }
  return picked;
}

std::vector<int64_t> draw_distinct(int64_t size, int64_t count, Rng rng) {
  std::vector<int64_t> drawn = shuffled(size, rng);
  if (count < size) drawn.resize(static_cast<size_t>(count));
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace tessera
