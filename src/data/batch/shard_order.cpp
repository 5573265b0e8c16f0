#include "data/batch/shard_order.h"

#include <numeric>
#include <span>
#include <utility>

namespace tessera {
namespace {

void shuffle(std::span<int64_t> order, Rng rng) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(static_cast<uint32_t>(i))]);
}

}  // namespace

std::vector<int64_t> shuffled(int64_t size, Rng rng) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, rng);
  return order;
}

std::vector<int64_t> shuffled_shards(int64_t size, const ShardReading& shards, Rng rng) {
  const int64_t count = std::ssize(shards.starts);
  if (count <= 1 || shards.block == 0 || shards.block >= size) return shuffled(size, rng);
  const auto end_of = [&](int64_t shard) { return shard + 1 < count ? shards.starts[static_cast<size_t>(shard) + 1] : size; };
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(size));
  size_t block = 0;  // where the present one begins
  uint32_t number = 1;
  const auto end_block = [&] {
    shuffle(std::span(order).subspan(block), rng.fork(number++));
    block = order.size();
  };
  for (const int64_t shard : shuffled(count, rng.fork(0))) {
    for (int64_t i = shards.starts[static_cast<size_t>(shard)]; i < end_of(shard); ++i) order.push_back(i);
    if (std::ssize(order) - static_cast<int64_t>(block) >= shards.block) end_block();
  }
  end_block();
  return order;
}

}  // namespace tessera
