#include "data/batch/sampler.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "data/batch/shard_order.h"

namespace tessera {
Sampler::Sampler(int64_t size, int64_t batch_size, uint64_t seed, ShardReading shards)
    : size_(size), batch_size_(batch_size), seed_(seed), shards_(std::move(shards)) {
  TSR_CHECK(size > 0, "the training set is empty");
  batches_per_epoch_ = (size + batch_size - 1) / batch_size;
}

const std::vector<int64_t>& Sampler::order(int64_t epoch) {
  EpochOrder& cached = cached_[static_cast<size_t>(epoch) % cached_.size()];
  if (epoch != cached.epoch)
    cached = {epoch, shuffled_shards(size_, shards_, Rng(seed_, Stream::kOrder, static_cast<uint64_t>(epoch)))};
  return cached.order;
}

int64_t Sampler::batches_ahead() const {
  constexpr int64_t kUsual = 8;
  if (shards_.starts.empty()) return 0;
  return shards_.ahead > 0 ? (shards_.ahead + batch_size_ - 1) / batch_size_ : kUsual;
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
