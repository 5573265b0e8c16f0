#pragma once
#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "config/dist_config.h"
#include "dist/communicator.h"

namespace tessera {

// A trainable parameter and where its gradient lies in the arena.
struct GradientPlace {
  at::Tensor parameter;
  int64_t offset = 0, numel = 0;
};

// Note [Gradient buckets]
// Buckets are slices of the flat gradient arena, cut from its end, because a backward pass finishes the last layers first.
// Bucket i goes out when all its gradients are complete and buckets 0 .. i-1 have gone, so the order is the same on all
// ranks whatever order the gradients come in; the rest goes out in `finish`. Nothing is copied unless gradients are
// compressed.

// When it happened, for the timeline and for the share of communication hidden behind the backward pass. Steady clock,
// seconds.
struct BucketTimes {
  int64_t bytes = 0;
  double sent = 0, done = 0;
};

// Sums the gradients of all ranks. One per rank.
class GradientReducer {
 public:
  // Hooks itself into the parameters. `grads` and `communicator` must outlive it.
  GradientReducer(Communicator& communicator, std::vector<GradientPlace> places, at::Tensor& grads, const DistConfig& config);
  ~GradientReducer();
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  // Calls `prepare` with the ends of a slice of the arena before it goes out: gradients that lie elsewhere are put there.
  void before_send(std::function<void(int64_t begin, int64_t end)> prepare) { prepare_ = std::move(prepare); }

  // Before the last backward pass of a step: from now on complete buckets go out.
  void arm();

  // Memory ran out in that pass: waits for what has gone out and remembers it. All gradients may then be computed again:
  // `arm` does nothing, and `finish` puts the finished buckets back and sends the others.
  void interrupt();

  // Sends what has not gone out.
  void send_rest();

  // The same, and waits for everything. The arena then holds the same on all ranks.
  void finish();

  // Forgets the step, without a wait: the world meets again, and all gradients are computed again.
  void give_up();

  void set_exchange(const DistConfig& config);  // other buckets or compression; between two steps

  const std::vector<BucketTimes>& times() const { return times_; }  // of the last step
  double waited() const { return waited_; }                         // seconds that `finish` took in it
  double exchanging() const;                                        // seconds in which a bucket was under way (CPU only)
  size_t num_buckets() const { return buckets_.size(); }

 private:
  struct Bucket {
    int64_t begin = 0, end = 0;  // of the arena
    int64_t places = 0, missing = 0;
    at::Tensor packed;  // what travels: the slice itself or its compressed copy
    std::optional<Exchange> exchange;
    at::Tensor kept;
  };
  class Hook;

  void cut_buckets();
  void gradient_ready(size_t place);
  void send_complete();
  void send(Bucket& bucket);
  void receive(Bucket& bucket);
  at::Tensor slice(const Bucket& bucket) const;

  Communicator& communicator_;
  std::vector<GradientPlace> places_;
  at::Tensor& grads_;
  DistConfig config_;
  std::function<void(int64_t, int64_t)> prepare_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by place
  size_t next_ = 0;                // bucket to go out
  bool armed_ = false, interrupted_ = false;
  std::vector<BucketTimes> times_;
  double waited_ = 0;
};

}  // namespace tessera
