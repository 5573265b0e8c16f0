#pragma once
#include <vector>

#include "study/search/searcher.h"
#include "study/space/space.h"

namespace tessera {

// Every combination of the parameters' values, the last parameter changing fastest; then nothing. Numbers need a step or
// `points`. Throws UsageError for more than kMaxPoints combinations: before they have run, nobody is there to read them.
class GridSearch final : public Searcher {
 public:
  static constexpr int64_t kMaxPoints = 10000;

  explicit GridSearch(const Space& space);

  std::optional<Assignment> suggest(int64_t number) override;
  void observe(const Trial& /*trial*/) override {}
  int64_t size() const { return static_cast<int64_t>(points_.size()); }

 private:
  std::vector<Assignment> points_;
};

}  // namespace tessera
