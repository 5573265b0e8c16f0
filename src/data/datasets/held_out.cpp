#include "data/datasets/held_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/name_hash.h"
#include "core/rng.h"

namespace tessera {

std::vector<bool> draw_held_out(const DataConfig& config, std::span<const size_t> pool, std::span<const std::string> names) {
  std::vector<std::pair<double, size_t>> drawn;
  for (const size_t i : pool) drawn.emplace_back(Rng(config.split_seed, Stream::kSplit, name_hash(names[i])).uniform(), i);
  std::sort(drawn.begin(), drawn.end());
  auto count = static_cast<size_t>(std::lround(config.val_share * static_cast<double>(pool.size())));
  if (config.val_share > 0 && config.val_share < 1 && pool.size() >= 2) count = std::clamp<size_t>(count, 1, pool.size() - 1);
  std::vector<bool> held_out(names.size(), false);
  for (size_t i = 0; i < count; ++i) held_out[drawn[i].second] = true;
  return held_out;
}

std::string held_out_text(const DataConfig& config, size_t held_out, size_t pool) {
  return fmt::format("held out: {} of {} by name, data.val_share={}", held_out, pool, config.val_share);
}

}  // namespace tessera
