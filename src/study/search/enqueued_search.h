#pragma once
#include <map>
#include <memory>
#include <vector>

#include "study/search/searcher.h"
#include "study/space/space.h"

namespace tessera {

// Points to try first, then what the inner searcher suggests, which learns from them. What a point leaves out is drawn at
// random. The inner searcher counts its own trials from 0, so that its grid or sequence is whole; it sees the points as trials
// of an earlier study.
class EnqueuedSearch final : public Searcher {
 public:
  // The points' names and values must be the space's; throws UsageError.
  EnqueuedSearch(std::unique_ptr<Searcher> inner, const Space& space, std::vector<Assignment> points, uint64_t seed);

  std::optional<Assignment> suggest(int64_t number) override;
  void observe(const Trial& trial) override;

 private:
  std::unique_ptr<Searcher> inner_;
  Space space_;
  std::vector<Assignment> points_;
  uint64_t seed_;
};

// A point as a person wrote it: values by parameter, those of choices as the choices are written, or the fragment's name.
// Throws UsageError with the nearest name.
Assignment parse_point(const Space& space, const std::map<std::string, std::string>& values);

}  // namespace tessera
