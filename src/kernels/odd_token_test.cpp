#include "kernels/odd_token.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

at::Tensor made(at::IntArrayRef sizes) {
  return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
}

at::Tensor by_heads(const at::Tensor& x, int64_t heads) {
  return x.view({x.size(0), x.size(1), heads, -1}).transpose(1, 2);
}

// Attention in float64, its gradient, and that gradient as far as the tokens behind the first make it among themselves.
struct Case {
  at::Tensor gradient;
  Heads rest;
  OddToken in;
};

Case make_case(int64_t samples, int64_t heads, int64_t tokens, int64_t d) {
  at::manual_seed(tokens + d);
  const at::Tensor qkv = made({samples, tokens, 3 * heads * d}).requires_grad_(), slope = made({samples, tokens, heads * d});
  const auto parts = qkv.chunk(3, -1);
  const at::Tensor q = by_heads(parts[0], heads), k = by_heads(parts[1], heads), v = by_heads(parts[2], heads);
  const double scale = 1 / std::sqrt(static_cast<double>(d));
  const at::Tensor scores = scale * q.matmul(k.transpose(2, 3)), out = scores.softmax(-1).matmul(v);
  const at::Tensor joined = out.transpose(1, 2).reshape({samples, tokens, heads * d});
  const at::Tensor gradient = torch::autograd::grad({joined}, {qkv}, {slope})[0];
  const at::NoGradGuard no_grad;
  const at::Tensor log_sums = scores.logsumexp(-1), g = by_heads(slope, heads);
  const auto behind = [&](const at::Tensor& x) { return x.narrow(2, 1, tokens - 1); };
  const at::Tensor weights = behind((scores - log_sums.unsqueeze(-1)).exp()).narrow(3, 1, tokens - 1);
  const at::Tensor slopes =
      scale * weights * (behind(g).matmul(behind(v).transpose(2, 3)) - (behind(g) * behind(out)).sum(-1, /*keepdim=*/true));
  return {gradient,
          {slopes.matmul(behind(k)), slopes.transpose(2, 3).matmul(behind(q)), weights.transpose(2, 3).matmul(behind(g))},
          {qkv.detach(), slope, joined, log_sums}};
}

void expect_gradient(const Case& c, at::ScalarType type, double tolerance) {
  const auto as = [&](const at::Tensor& x) { return x.to(type); };
  const Heads rest{as(c.rest.q), as(c.rest.k).transpose(1, 2).contiguous().transpose(1, 2), as(c.rest.v)};
  const at::Tensor tokens = at::full_like(as(c.in.qkv), NAN);
  const at::Tensor logs = c.in.log_sums.to(type == at::kDouble ? at::kDouble : at::kFloat);
  const at::Tensor sums = join_odd_token(rest, {as(c.in.qkv), as(c.in.slope), as(c.in.out), logs}, tokens);
  const double size = c.gradient.abs().max().item<double>();
  EXPECT_LT((tokens.to(at::kDouble) - c.gradient).abs().max().item<double>(), tolerance * size)
      << c.in.qkv.sizes() << " " << toString(type);
  EXPECT_EQ(sums.scalar_type(), logs.scalar_type());
  EXPECT_LT((sums.to(at::kDouble) - tokens.to(at::kDouble).sum(at::IntArrayRef{0, 1})).abs().max().item<double>(), 1e-4 * size);
}

TEST(OddToken, IsAddedToTheOthersGradients) {
  for (const auto& [samples, heads, tokens, d] : std::vector<std::array<int64_t, 4>>{
           {2, 3, 129, 64}, {1, 1, 2, 8}, {3, 5, 65, 16}, {1, 12, 70, 64}, {2, 2, 257, 32}, {1, 1, 130, 64}}) {
    const Case c = make_case(samples, heads, tokens, d);
    expect_gradient(c, at::kDouble, 1e-12);
    expect_gradient(c, at::kFloat, 1e-5);
    expect_gradient(c, at::kHalf, 4e-3);
    expect_gradient(c, at::kBFloat16, 3e-2);  // results of attention, gradients and their sums are rounded to 8 bits
  }
}

TEST(OddToken, TheSameBitsTwice) {
  const Case c = make_case(2, 3, 129, 64);
  const auto run = [&] {
    const at::Tensor tokens = at::empty_like(c.in.qkv, at::kFloat);
    join_odd_token({c.rest.q.to(at::kFloat), c.rest.k.to(at::kFloat), c.rest.v.to(at::kFloat)},
                   {c.in.qkv.to(at::kFloat), c.in.slope.to(at::kFloat), c.in.out.to(at::kFloat), c.in.log_sums.to(at::kFloat)},
                   tokens);
    return tokens;
  };
  EXPECT_TRUE(run().equal(run()));
}

TEST(OddToken, ShapesThatDoNotFitAreRefused) {
  const Case c = make_case(1, 1, 3, 8);
  EXPECT_THROW(join_odd_token(c.rest, c.in, at::zeros({1, 2, 24}, c.in.qkv.options())), Error);
  OddToken other = c.in;
  other.log_sums = other.log_sums.narrow(2, 1, 2);
  EXPECT_THROW(join_odd_token(c.rest, other, at::zeros_like(c.in.qkv)), Error);
}

}  // namespace
}  // namespace tessera
