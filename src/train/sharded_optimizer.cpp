#include "train/sharded_optimizer.h"

#include <torch/types.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

constexpr int64_t kSliceStep = 16;  // slices begin where vectors of values do

// The spans within [begin, end) of the arena, counted from `begin`.
std::vector<ParamSpan> clipped(const std::vector<ParamSpan>& spans, int64_t begin, int64_t end) {
  std::vector<ParamSpan> inside;
  for (ParamSpan span : spans) {
    const int64_t first = std::max(span.offset, begin), last = std::min(span.offset + span.numel, end);
    if (first >= last) continue;
    span.offset = first - begin;
    span.numel = last - first;
    inside.push_back(std::move(span));
  }
  return inside;
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(const OptimizerConfig& config, const LrRange& lr, const std::vector<ParamSpan>& spans,
                                   const at::Tensor& params, Communicator& communicator, bool sharded)
    : communicator_(communicator),
      sharded_(sharded && !communicator.alone()),
      numel_(params.numel()),
      num_spans_(static_cast<int64_t>(spans.size())) {
  check_parts(spans, config);
  const int64_t ranks = sharded_ ? communicator.size() : 1, rank = sharded_ ? communicator.rank() : 0;
  slice_ = ((numel_ + ranks - 1) / ranks + kSliceStep - 1) / kSliceStep * kSliceStep;
  begin_ = std::min(rank * slice_, numel_);
  end_ = std::min(begin_ + slice_, numel_);
  first_span_ = std::count_if(spans.begin(), spans.end(), [&](const auto& s) { return s.offset + s.numel <= begin_; });
  optimizer_ = std::make_unique<Optimizer>(config, lr, clipped(spans, begin_, end_), own_slice(params));
  if (sharded_) optimizer_->on_norms([this](at::Tensor& norms) { sum_norms(norms); });
}

void ShardedOptimizer::set_spans(const std::vector<ParamSpan>& spans) {
  optimizer_->set_spans(clipped(spans, begin_, end_));
}

// A tensor may be cut by the edges of slices: each rank has the sums of its part, and all get those of the whole.
void ShardedOptimizer::sum_norms(at::Tensor& norms) {
  at::Tensor all = make_with_kept_memory([&] { return at::zeros({num_spans_, 2}, norms.options()); });
  at::Tensor own = all.narrow(0, norms.size(0) > 0 ? first_span_ : 0, norms.size(0));
  own.copy_(norms);
  communicator_.sum(all);
  norms.copy_(own);
}

void ShardedOptimizer::step(at::Tensor& params, const at::Tensor& grads, const LrPoint& lr, std::optional<double> momentum,
                            const StepExtras& extras) {
  at::Tensor own = own_slice(params);
  StepExtras sliced = extras;
  if (extras.copies.defined()) sliced.copies = own_slice(extras.copies);
  optimizer_->step(own, own_slice(grads), lr, momentum, sliced);
  if (sharded_) params.copy_(whole(own));
}

// Slices have one length on the wire; the last ones may be shorter in the arena.
at::Tensor ShardedOptimizer::whole(const at::Tensor& slice) {
  if (!sharded_) return slice;
  at::Tensor padded = make_with_kept_memory([&] { return at::zeros({slice_}, slice.options()); });
  at::Tensor all = make_with_kept_memory([&] { return at::empty({communicator_.size(), slice_}, slice.options()); });
  padded.narrow(0, 0, slice.numel()).copy_(slice);
  communicator_.gather_into(all, padded);
  return all.flatten().narrow(0, 0, numel_);
}

NamedTensors ShardedOptimizer::state() {
  const at::NoGradGuard no_grad;
  NamedTensors all;
  for (const auto& [name, slice] : optimizer_->state()) all.emplace_back(name, whole(slice));
  return all;
}

void ShardedOptimizer::load_state(const NamedTensors& state) {
  const at::NoGradGuard no_grad;
  const std::map<std::string, at::Tensor> given(state.begin(), state.end());
  TSR_CHECK(communicator_.rank() != 0 || given.size() == optimizer_->state().size(),
            "the checkpoint has {} kinds of optimizer state, this optimizer {}: it is of another one", given.size(),
            optimizer_->state().size());
  for (const auto& [name, slice] : optimizer_->state()) {
    at::Tensor all = at::zeros({numel_}, slice.options());
    if (communicator_.rank() == 0) {
      const auto found = given.find(name);
      TSR_CHECK(found != given.end() && found->second.numel() == numel_,
                "the checkpoint has no optimizer state '{}' of {} values: it is of another model or optimizer", name, numel_);
      all.copy_(found->second);
    }
    communicator_.broadcast(all);
    slice.copy_(own_slice(all));
  }
}

int64_t ShardedOptimizer::state_bytes() const {
  int64_t bytes = 0;
  for (const auto& entry : optimizer_->state()) bytes += numel_ * static_cast<int64_t>(entry.second.element_size());
  return bytes;
}

}  // namespace tessera
