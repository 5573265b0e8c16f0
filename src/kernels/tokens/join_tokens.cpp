#include "kernels/tokens/join_tokens.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"

namespace tessera {
namespace {

using OptionalTensor = std::optional<at::Tensor>;
using torch::autograd::variable_list;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using ForwardOp = at::Tensor(const at::Tensor&, const at::Tensor&, const OptionalTensor&, bool);
using BackwardOp = Three(const at::Tensor&, int64_t, at::ScalarType, bool, bool);

at::Tensor join_tokens_cpu(const at::Tensor& patches, const at::Tensor& tokens, const OptionalTensor& positions,
                           bool tokens_first) {
  const at::Tensor own = patches.to(tokens.scalar_type()), shared = tokens.expand({patches.size(0), -1, -1});
  const at::Tensor joined = tokens_first ? at::cat({shared, own}, 1) : at::cat({own, shared}, 1);
  return positions ? joined + *positions : joined;
}

// The gradients of patches, tokens and positions.
Three join_tokens_backward_cpu(const at::Tensor& grad_out, int64_t tokens, at::ScalarType patch_type, bool tokens_first,
                               bool positions) {
  const int64_t patches = grad_out.size(1) - tokens, begin = tokens_first ? tokens : 0;
  const at::Tensor sums = grad_out.sum(0);
  return {grad_out.slice(1, begin, begin + patches).to(patch_type).contiguous(),
          (tokens_first ? sums.slice(0, 0, tokens) : sums.slice(0, patches)).clone(), positions ? sums : at::Tensor()};
}

struct JoinTokensFunction : torch::autograd::Function<JoinTokensFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& patches, const at::Tensor& tokens,
                            const OptionalTensor& positions, bool tokens_first) {
    static const auto op = find_op<ForwardOp>("tessera::join_tokens");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    ctx->saved_data["tokens"] = tokens.size(0);
    ctx->saved_data["type"] = patches.scalar_type();
    ctx->saved_data["first"] = tokens_first;
    ctx->saved_data["positions"] = positions.has_value();
    return op.call(patches, tokens, positions, tokens_first);
  }
  static variable_list backward(torch::autograd::AutogradContext* ctx, const variable_list& grad_outputs) {
    static const auto op = find_op<BackwardOp>("tessera::join_tokens_backward");
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    auto [grad_patches, grad_tokens, grad_positions] =
        op.call(grad_outputs[0].contiguous(), ctx->saved_data["tokens"].toInt(), ctx->saved_data["type"].toScalarType(),
                ctx->saved_data["first"].toBool(), ctx->saved_data["positions"].toBool());
    return {grad_patches, grad_tokens, grad_positions, {}};
  }
};

}  // namespace

at::Tensor join_tokens(const at::Tensor& patches, const at::Tensor& tokens, const at::Tensor& positions, bool tokens_first) {
  TSR_CHECK(patches.dim() == 3 && tokens.dim() == 2 && patches.size(2) == tokens.size(1),
            "patches (N, P, width) are joined with tokens (K, width) of their width");
  TSR_CHECK(!positions.defined() || (positions.dim() == 2 && positions.size(0) == patches.size(1) + tokens.size(0) &&
                                     positions.size(1) == tokens.size(1) && positions.scalar_type() == tokens.scalar_type()),
            "there must be a position for each of {} patches and {} tokens", patches.size(1), tokens.size(0));
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  return JoinTokensFunction::apply(patches.contiguous(), tokens.contiguous(),
                                   positions.defined() ? OptionalTensor(positions.contiguous()) : std::nullopt, tokens_first);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("join_tokens(Tensor patches, Tensor tokens, Tensor? positions, bool tokens_first) -> Tensor");
  m.def(
      "join_tokens_backward(Tensor grad_out, int tokens, ScalarType patch_type, bool tokens_first, bool positions) -> (Tensor "
      "grad_patches, Tensor grad_tokens, Tensor grad_positions)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("join_tokens", join_tokens_cpu);
  m.impl("join_tokens_backward", join_tokens_backward_cpu);
}

}  // namespace tessera
