#include "dist/gradient_reducer.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>

#include <algorithm>

#include "core/clock.h"
#include "core/rank_status.h"
#include "dist/adasum.h"
#include "dist/multiply.h"

namespace tessera {
namespace {

at::ScalarType wire_type(Compression compression, at::ScalarType own) {
  switch (compression) {
    case Compression::kNone: return own;
    case Compression::kBf16: return at::kBFloat16;
    case Compression::kFp16: return at::kHalf;
  }
  return own;
}

}  // namespace

class GradientReducer::Hook : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(GradientReducer& reducer, size_t place) : reducer_(reducer), place_(place) {}
  void operator()(const torch::autograd::Variable&) override { reducer_.gradient_ready(place_); }

 private:
  GradientReducer& reducer_;
  size_t place_;
};

GradientReducer::GradientReducer(Communicator& communicator, std::vector<GradientPlace> places, at::Tensor& grads,
                                 const DistConfig& config)
    : communicator_(communicator), places_(std::move(places)), grads_(grads), config_(config) {
  cut_buckets();
  for (size_t i = 0; i < places_.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(places_[i].parameter, std::make_unique<Hook>(*this, i));
  }
}

GradientReducer::~GradientReducer() {
  for (const GradientPlace& place : places_) torch::autograd::impl::set_post_acc_grad_hooks(place.parameter, nullptr);
}

void GradientReducer::set_exchange(const DistConfig& config) {
  config_ = config;
  cut_buckets();
}

void GradientReducer::cut_buckets() {
  const auto bytes_each = static_cast<int64_t>(grads_.element_size());
  const auto limit = static_cast<int64_t>(config_.bucket_mb * 1e6) / bytes_each;
  buckets_.clear();
  bucket_of_.assign(places_.size(), 0);
  int64_t end = grads_.numel();
  for (size_t i = places_.size(); i-- > 0;) {
    // Adasum weighs whole gradients against one another, so it takes one bucket.
    if (buckets_.empty() || (config_.reduction != Reduction::kAdasum && buckets_.back().end - buckets_.back().begin >= limit)) {
      buckets_.push_back({.begin = end, .end = end, .packed = {}, .exchange = {}, .kept = {}});
    }
    buckets_.back().begin = end = places_[i].offset;
    ++buckets_.back().places;
    bucket_of_[i] = buckets_.size() - 1;
  }
  times_.assign(buckets_.size(), {});
  for (size_t b = 0; b < buckets_.size(); ++b) {
    times_[b].bytes = (buckets_[b].end - buckets_[b].begin) *
                      static_cast<int64_t>(c10::elementSize(wire_type(config_.compression, grads_.scalar_type())));
  }
}

at::Tensor GradientReducer::slice(const Bucket& bucket) const {
  return grads_.narrow(0, bucket.begin, bucket.end - bucket.begin);
}

void GradientReducer::arm() {
  if (interrupted_) return;
  armed_ = true;
  for (Bucket& bucket : buckets_) bucket.missing = bucket.places;
}

void GradientReducer::gradient_ready(size_t place) {
  if (!armed_) return;
  --buckets_[bucket_of_[place]].missing;
  send_complete();
}

void GradientReducer::send_complete() {
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_)
    send(buckets_[next_]);  // one that fails has not gone
}

void GradientReducer::send(Bucket& bucket) {
  if (communicator_.alone() || config_.reduction == Reduction::kAdasum) return;
  const at::NoGradGuard no_grad;
  if (prepare_) prepare_(bucket.begin, bucket.end);
  at::Tensor own = slice(bucket);
  if (config_.predivide != 1) own.div_(config_.predivide);
  const at::ScalarType type = wire_type(config_.compression, own.scalar_type());
  bucket.packed = type == own.scalar_type() ? own : own.to(type);
  const auto index = static_cast<size_t>(&bucket - buckets_.data());
  times_[index].sent = monotonic_s();
  bucket.exchange = communicator_.begin_sum(bucket.packed);
  if (own.is_cpu()) bucket.exchange->on_done([time = &times_[index].done] { *time = monotonic_s(); });
}

void GradientReducer::receive(Bucket& bucket) {
  if (!bucket.exchange) return;
  bucket.exchange->wait();
  bucket.exchange.reset();
  at::Tensor own = slice(bucket);
  if (!bucket.packed.is_same(own) && bucket.packed.scalar_type() != own.scalar_type()) own.copy_(bucket.packed);
  bucket.packed.reset();
  // A sum of mean gradients, as Horovod's Sum gives, is the gradient of the mean loss times the number of ranks.
  const double factor = config_.predivide * (config_.reduction == Reduction::kSum ? communicator_.size() : 1);
  if (factor != 1) multiply(own, factor);
}

double GradientReducer::exchanging() const {
  double total = 0, until = 0;
  for (const BucketTimes& bucket : times_) {  // in order of `sent`
    total += std::max(0.0, bucket.done - std::max(until, bucket.sent));
    until = std::max(until, bucket.done);
  }
  return total;
}

void GradientReducer::interrupt() {
  const at::NoGradGuard no_grad;
  if (!armed_) return;
  armed_ = false;
  interrupted_ = true;
  for (size_t b = 0; b < next_; ++b) {
    receive(buckets_[b]);
    buckets_[b].kept = slice(buckets_[b]).clone();
  }
}

void GradientReducer::send_rest() {
  const at::NoGradGuard no_grad;
  if (interrupted_) {
    for (size_t b = 0; b < next_; ++b) {
      if (buckets_[b].kept.defined()) slice(buckets_[b]).copy_(buckets_[b].kept);
    }
  }
  for (; next_ < buckets_.size(); ++next_) send(buckets_[next_]);
}

void GradientReducer::give_up() {
  for (Bucket& bucket : buckets_) {
    bucket.exchange.reset();
    bucket.packed.reset();
    bucket.kept.reset();
  }
  armed_ = interrupted_ = false;
  next_ = 0;
}

void GradientReducer::finish() {
  const at::NoGradGuard no_grad;
  const double begin = monotonic_s();
  enter_phase(RankPhase::kReducing);
  send_rest();
  for (Bucket& bucket : buckets_) {
    if (!bucket.kept.defined()) receive(bucket);
    bucket.kept.reset();
  }
  if (config_.reduction == Reduction::kAdasum && !communicator_.alone()) {
    std::vector<std::pair<int64_t, int64_t>> layers;
    for (const GradientPlace& place : places_) layers.emplace_back(place.offset, place.numel);
    multiply(grads_, communicator_.size());  // each rank's own mean gradient
    adasum(communicator_, grads_, layers);
  }
  armed_ = interrupted_ = false;
  next_ = 0;
  waited_ = monotonic_s() - begin;
}

}  // namespace tessera
