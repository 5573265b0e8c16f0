#pragma once
#include <cstdint>
#include <limits>
#include <string>

#include "config/train_config.h"

namespace tessera {

// How far predictions were cut down because memory ran out. It holds from then on: what was too much once would be again.
// Fewer images or windows at a time change no prediction; windows in place of a whole image do, a little.
class EvalLimits {
 public:
  // The settings under which images of this size are computed. eval.batch_size must be set.
  EvalConfig within(EvalConfig eval, int64_t height, int64_t width) const;
  // The same without the cuts that change predictions, of an image that ranks share: each has limits of its own.
  EvalConfig passes_within(EvalConfig eval) const;

  int64_t images() const { return images_; }  // at most, at a time

  // After `count` images of this size were too much under `eval`, as `within` gave it: takes the next smaller way and warns of
  // it. False: there is none.
  bool shrink(const EvalConfig& eval, int64_t count, int64_t height, int64_t width, const std::string& why);
  // The same without ways that change predictions.
  bool shrink_passes(const EvalConfig& eval, int64_t count, int64_t height, int64_t width, const std::string& why);

  // "images of 6000 x 8000 pixels or more in windows of 3008 x 4000"; empty: predictions are as asked for.
  std::string windows() const;

 private:
  static constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  int64_t images_ = kAny, window_batch_ = kAny;
  int64_t height_ = 0, width_ = 0;  // of the smallest image that is cut
  Size window_{0, 0};               // 0: none is
};

}  // namespace tessera
