#pragma once
#include <optional>
#include <vector>

#include "dist/communicator.h"
#include "infer/image_group.h"
#include "infer/predictor.h"
#include "infer/windows/window_team.h"

namespace tessera {

// Note [Images and ranks]
// Images (in evaluation: blocks of them, which share forward passes) are dealt out to the ranks in rounds, whole: that needs no
// exchange. In the last round there may be fewer than ranks, so that some would wait. Images of that round that have windows
// enough (Predictor::splits_over) are computed by all ranks together. The rank that was dealt an image reads it, hands its
// pixels to the others, and has the result, as if it had been alone: see Note [Windows on several ranks].

// Whether `item`, of `count` that are dealt out one by one, is of a round that does not reach all ranks.
inline bool in_short_round(int64_t item, int64_t count, int ranks) {
  return item / ranks == count / ranks;
}

// The images that all ranks compute together, after those that each has for itself.
class SharedImages {
 public:
  // count: of items (images, blocks of them) that are dealt out to the ranks. ranks: must outlive this.
  SharedImages(Communicator& ranks, int64_t count) : ranks_(ranks), count_(count) {}

  // Whether images of this size that belong to `item` are to be added.
  bool wants(int64_t item, const Predictor& predictor, int64_t height, int64_t width) const {
    return in_short_round(item, count_, ranks_.size()) && predictor.splits_over(ranks_.size(), height, width);
  }

  // Images of this rank, before the first call of `next`.
  void add(ImageGroup images) { own_.push_back(std::move(images)); }

  // The images of one rank, on all of them; where one has no memory for them, on that rank alone, which then is its own team.
  struct Turn {
    ImageGroup images;
    WindowTeam team;     // led by the rank that added them
    int64_t number = 0;  // of the images among those that it added

    bool has_part() const { return images.pixels.defined(); }  // for this rank to do
  };

  // The images of all ranks, one after another; nothing at the end. Collective.
  std::optional<Turn> next();

 private:
  Communicator& ranks_;
  int64_t count_;
  std::vector<ImageGroup> own_;
  at::Tensor counts_;  // of the images that each rank added; undefined before the first call
  int leader_ = 0;
  int64_t number_ = 0;  // of the next images of the leader
};

}  // namespace tessera
