#include "kernels/tokens/pack_qkv.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

at::Tensor made(at::IntArrayRef sizes, at::ScalarType type) {
  return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), type);
}

struct Joined {
  at::Tensor tokens, sums;
};
Joined joined(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor tokens = at::empty({q.size(0), q.size(2), 3 * q.size(1) * q.size(3)}, q.options());
  return {tokens, pack_qkv_grad(q, k, v, tokens)};
}

// (N, heads, T, d) taken apart by hand: token by token, part by part.
void expect_joined(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const Joined got = joined(q, k, v);
  const int64_t width = q.size(1) * q.size(3);
  ASSERT_EQ(got.tokens.sizes(), (std::vector<int64_t>{q.size(0), q.size(2), 3 * width}));
  EXPECT_TRUE(got.tokens.is_contiguous());
  EXPECT_EQ(got.tokens.scalar_type(), q.scalar_type());
  EXPECT_EQ(got.sums.scalar_type(), q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  int64_t part = 0;
  for (const at::Tensor& x : {q, k, v}) {
    for (int64_t head = 0; head < x.size(1); ++head) {
      const int64_t begin = part * width + head * x.size(3), end = begin + x.size(3);
      EXPECT_TRUE(got.tokens.slice(2, begin, end).equal(x.select(1, head))) << x.sizes() << x.strides();
      const at::Tensor sums = x.select(1, head).to(at::kDouble).sum(at::IntArrayRef{0, 1});
      EXPECT_LT((got.sums.slice(0, begin, end).to(at::kDouble) - sums).abs().max().item<double>(), 1e-4);
    }
    ++part;
  }
}

TEST(PackQkvGrad, EveryValueGoesToItsPlace) {
  at::manual_seed(1);
  for (const at::ScalarType type : {at::kBFloat16, at::kHalf, at::kFloat, at::kDouble}) {
    for (const auto& [samples, heads, tokens, d] :
         std::vector<std::array<int64_t, 4>>{{2, 3, 7, 8}, {1, 1, 1, 1}, {3, 2, 97, 64}, {2, 5, 65, 3}, {1, 12, 30, 64}}) {
      const at::Tensor q = made({samples, heads, tokens, d}, type);
      // Attention gives its gradients in one of these layouts, by device.
      const at::Tensor k = made({samples, tokens, heads, d}, type).transpose(1, 2);
      const at::Tensor v = made({heads, samples, tokens, d}, type).transpose(0, 1);
      expect_joined(q, k, v);
    }
  }
}

TEST(PackQkvGrad, LayoutsWithGaps) {
  at::manual_seed(2);
  const at::Tensor whole = made({2, 9, 3, 4, 16}, at::kBFloat16);
  const auto parts = whole.permute({2, 0, 3, 1, 4}).unbind(0);
  expect_joined(parts[0], parts[1], parts[2]);
  EXPECT_TRUE(joined(parts[0], parts[1], parts[2]).tokens.equal(whole.view({2, 9, 192})));
  const at::Tensor odd = made({2, 4, 9, 17}, at::kBFloat16).slice(3, 1);  // rows begin within a vector
  expect_joined(odd, parts[1], odd);
  const at::Tensor turned = made({2, 4, 16, 9}, at::kBFloat16).transpose(2, 3);  // neighbours lie apart
  expect_joined(parts[0], turned, turned);
}

TEST(PackQkvGrad, StretchesOfSamplesGoToTheirPlace) {
  at::manual_seed(3);
  const at::Tensor q = made({3, 2, 5, 4}, at::kFloat), k = made({3, 2, 5, 4}, at::kFloat), v = made({3, 2, 5, 4}, at::kFloat);
  const at::Tensor tokens = at::empty({3, 5, 24}, q.options());
  for (int64_t sample = 0; sample < 3; ++sample)
    pack_qkv_grad(q.narrow(0, sample, 1), k.narrow(0, sample, 1), v.narrow(0, sample, 1), tokens.narrow(0, sample, 1));
  EXPECT_TRUE(tokens.equal(joined(q, k, v).tokens));
}

TEST(PackQkvGrad, ShapesThatDifferAreRefused) {
  const at::Tensor q = at::zeros({1, 2, 3, 4});
  EXPECT_THROW(joined(q, q, at::zeros({1, 2, 4, 4})), Error);
  EXPECT_THROW(pack_qkv_grad(q, q, q, at::zeros({1, 3, 8})), Error);
}

}  // namespace
}  // namespace tessera
