#include "train/nonfinite_search.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include "infer/rank_consensus.h"
#include "train/output_watch.h"

namespace tessera {
namespace {

std::vector<int64_t> rows_not_finite(const at::Tensor& values) {
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < values.size(0); ++row) {
    if (!values[row].isfinite().all().item<bool>()) rows.push_back(row);
  }
  return rows;
}

}  // namespace

NonFiniteCause NonFiniteSearch::cause(const StepInputs& inputs) {
  NonFiniteCause found = in_forward(inputs);
  const int any = max_over_ranks(world_, found.order == kNoCause ? 0 : 1);
  return any != 0 ? found : in_gradient(inputs);
}

NonFiniteCause NonFiniteSearch::in_forward(const StepInputs& inputs) {
  NonFiniteCause cause;
  gradients_.repeat_forward(inputs, [&](const Pass& pass, const at::Tensor& pixels, const std::function<void()>& forward) {
    if (cause.order != kNoCause) return forward();  // the other ranks may be in it
    if (const std::vector<int64_t> rows = rows_not_finite(pixels); !rows.empty()) {
      cause = {.order = 0, .place = "the pixels that went in", .rows = rows};
      forward();
    } else {
      const OutputWatch watch(model_, pass.end - pass.begin);
      forward();
      if (!watch.found()) return;
      const NonFiniteOutput& found = *watch.found();
      const std::string layer = found.layer.empty() ? "the network's input" : found.layer;
      cause = {.order = 1 + found.number,
               .place = fmt::format("{} {} ({})", found.own ? "the output of" : "what follows", layer, found.op),
               .rows = found.rows};
    }
    for (int64_t& row : cause.rows) row += pass.begin;
  });
  return cause;
}

// Of a gradient it is not known which samples made it so: the ranks have added theirs up.
NonFiniteCause NonFiniteSearch::in_gradient(const StepInputs& inputs) {
  constexpr int64_t kLoss = kNoCause - 2, kGradient = kNoCause - 1;
  const at::Tensor buffers = arena_.buffers().clone();
  const at::Tensor own = gradients_.compute(inputs);
  gradients_.reduce(own);
  const at::NoGradGuard no_grad;
  arena_.buffers().copy_(buffers);
  const bool loss_is_finite = own.isfinite().item<bool>();
  if (max_over_ranks(world_, loss_is_finite ? 0 : 1) != 0)
    return loss_is_finite ? NonFiniteCause{} : NonFiniteCause{.order = kLoss, .place = "the loss"};
  const std::vector<ParamSpan>& spans = arena_.spans();  // backward comes from the last
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    if (!arena_.grads().narrow(0, span->offset, span->numel).isfinite().all().item<bool>())
      return {.order = kGradient, .place = "the gradient of " + span->name};
  }
  return {.order = kGradient, .place = "a gradient, which is finite when it is computed again"};
}

}  // namespace tessera
