#include "data/batch/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "data/batch/shard_order.h"

namespace tessera {
Sampler::Sampler(int64_t size, int64_t batch_size, uint64_t seed, ShardReading shards, std::vector<double> chances)
    : size_(size), batch_size_(batch_size), seed_(seed), shards_(std::move(shards)), chances_(std::move(chances)) {
  TSR_CHECK(size > 0, "the training set is empty");
  TSR_CHECK(chances_.empty() || std::ssize(chances_) == size, "expected a chance for each of {} samples, got {}", size,
            chances_.size());
  batches_per_epoch_ = (size + batch_size - 1) / batch_size;
}

// The samples stand one after another on a line, in random order, each as long as its share of the places; places are points at
// a distance of 1, from a random one on.
std::vector<int64_t> Sampler::draw_times(int64_t epoch) const {
  constexpr uint64_t kTimes = 1;  // beside the numbers of the order
  const Rng rng(seed_, Stream::kOrder, static_cast<uint64_t>(epoch), kTimes);
  const double first = rng.fork(0).uniform();
  std::vector<int64_t> times(static_cast<size_t>(size_));
  double end = 0;
  int64_t taken = 0;
  int64_t last = 0;
  for (const int64_t index : shuffled(size_, rng.fork(1))) {
    const double chance = chances_[static_cast<size_t>(index)];
    if (chance <= 0) continue;
    end += chance * static_cast<double>(size_);
    const int64_t before = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(end - first)), taken, size_);
    times[static_cast<size_t>(index)] = before - taken;
    taken = before;
    last = index;
  }
  times[static_cast<size_t>(last)] += size_ - taken;  // what rounding left of the sum
  return times;
}

Sampler::EpochOrder Sampler::make_order(int64_t epoch) const {
  const Rng rng(seed_, Stream::kOrder, static_cast<uint64_t>(epoch));
  EpochOrder made{epoch, {}, {}};
  if (chances_.empty()) {
    for (const int64_t index : shuffled_shards(size_, shards_, rng)) made.places.push_back({index, index});
    return made;
  }
  made.times = draw_times(epoch);
  std::vector<Pick> all;  // in the order of the samples, and so of their shards
  ShardReading shards{.starts = {}, .block = shards_.block, .ahead = shards_.ahead};
  size_t shard = 0;
  for (int64_t index = 0; index < size_; ++index) {
    for (; shard < shards_.starts.size() && shards_.starts[shard] == index; ++shard) shards.starts.push_back(std::ssize(all));
    for (int64_t k = 0; k < made.times[static_cast<size_t>(index)]; ++k) all.push_back({index, index + k * size_});
  }
  for (const int64_t place : shuffled_shards(size_, shards, rng)) made.places.push_back(all[static_cast<size_t>(place)]);
  return made;
}

const Sampler::EpochOrder& Sampler::order(int64_t epoch) {
  EpochOrder& cached = cached_[static_cast<size_t>(epoch) % cached_.size()];
  if (epoch != cached.epoch) cached = make_order(epoch);
  return cached;
}

int64_t Sampler::batches_ahead() const {
  constexpr int64_t kUsual = 8;
  if (shards_.starts.empty()) return 0;
  return shards_.ahead > 0 ? (shards_.ahead + batch_size_ - 1) / batch_size_ : kUsual;
}

std::vector<Pick> Sampler::batch(int64_t step) {
  const EpochOrder& all = order(step / batches_per_epoch_);
  const int64_t first = step % batches_per_epoch_ * batch_size_;
  std::vector<Pick> picked;
  for (int64_t i = first; i < first + batch_size_; ++i) {
    Pick pick = all.places[static_cast<size_t>(i % size_)];
    const int64_t times = all.times.empty() ? 1 : all.times[static_cast<size_t>(pick.index)];
    pick.draw += i / size_ * times * size_;  // beyond the draws that it had in the epoch before
    picked.push_back(pick);
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
