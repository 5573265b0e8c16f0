#pragma once
#include <vector>

#include "data/transforms/transform.h"

namespace tessera {

// A range of the files' values to 0..1, per channel, as floats that are not clipped: data.normalize.mode=range. What follows in
// the pipeline then sees images whose full range is the one that is used: 12-bit values in 16-bit files are no longer almost
// black, and brightness or padding are shares of what is there.
class Rescale : public Transform {
 public:
  // Values as in the files; one, or one per channel.
  Rescale(std::vector<double> low, std::vector<double> high) : low_(std::move(low)), high_(std::move(high)) {}
  void apply(Sample& sample, Rng rng) const override;

 private:
  std::vector<double> low_, high_;
};

}  // namespace tessera
