#include "data/check/sample_choice.h"

#include <algorithm>

#include "core/name_hash.h"
#include "core/rng.h"

namespace tessera {

std::vector<int64_t> choose_samples(const Dataset& dataset, int64_t count, uint64_t seed) {
  struct Drawn {
    double number;
    std::string name;  // decides between equal numbers
    int64_t index;
    bool operator<(const Drawn& other) const {
      return std::tie(number, name, index) < std::tie(other.number, other.name, other.index);
    }
  };
  std::vector<Drawn> drawn;
  for (int64_t i = 0; i < dataset.size(); ++i) {
    const std::string name = dataset.id(i);
    drawn.push_back({Rng(seed, Stream::kSelect, name_hash(name)).uniform(), name, i});
  }
  const auto taken = std::min<size_t>(drawn.size(), static_cast<size_t>(count));
  std::partial_sort(drawn.begin(), drawn.begin() + static_cast<ptrdiff_t>(taken), drawn.end());
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < taken; ++i) chosen.push_back(drawn[i].index);
  return chosen;
}

}  // namespace tessera
