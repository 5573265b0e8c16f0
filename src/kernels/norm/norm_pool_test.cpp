#include "kernels/norm/norm_pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <ostream>

#include "core/error.h"
#include "kernels/features/max_pool.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct PoolCase {
  int64_t n, channels, height, width, group, before;
  at::ScalarType type;
};
std::ostream& operator<<(std::ostream& to, const PoolCase& c) {
  return to << c.n << " x " << c.channels << " x " << c.height << " x " << c.width << " in groups of " << c.group << " behind "
            << c.before << ", " << c.type;
}

struct Values {
  at::Tensor x, weight, bias, grad_pooled, grad_y;
  NormActOptions options = {};
};

Values values_of(const PoolCase& c) {
  at::manual_seed(static_cast<uint64_t>(c.channels));
  const auto map = [&](int64_t divisor, int64_t channels) {
    return at::randn({c.n, channels, c.height / divisor, c.width / divisor}, at::kDouble)
        .to(testing::test_device(), c.type)
        .contiguous(at::MemoryFormat::ChannelsLast);
  };
  const auto list = [&](double low) {
    return (low + at::rand({c.channels}, at::kDouble)).to(testing::test_device(), c.type == at::kDouble ? c.type : at::kFloat);
  };
  Values v{map(1, c.channels), list(0.5), list(-0.5), map(2, c.channels),
           map(1, c.before + c.channels).narrow(1, c.before, c.channels)};
  for (int64_t end = c.group; end < c.n; end += c.group) v.options.ends.push_back(end);
  v.options.ends.push_back(c.n);
  v.options.relu = true;
  return v;
}

struct Found {
  at::Tensor pooled, y, grad_x, grad_weight, grad_bias;
  std::vector<std::pair<const char*, at::Tensor>> all() const {
    return {{"pooled", pooled}, {"y", y}, {"grad_x", grad_x}, {"grad_weight", grad_weight}, {"grad_bias", grad_bias}};
  }
};

// Gradients of either result, or of both.
template <class Forward>
Found run(const Values& v, bool through_pool, bool through_y, Forward forward) {
  const at::Tensor x = v.x.detach().requires_grad_(), weight = v.weight.detach().requires_grad_();
  const at::Tensor bias = v.bias.detach().requires_grad_();
  const auto [pooled, y] = forward(x, weight, bias);
  at::Tensor sum = at::zeros({}, x.options().dtype(at::kDouble));
  if (through_pool) sum = sum + (pooled.to(at::kDouble) * v.grad_pooled.to(at::kDouble)).sum();
  if (through_y) sum = sum + (y.to(at::kDouble) * v.grad_y.to(at::kDouble)).sum();
  sum.backward();
  return {pooled.detach(), y.detach(), x.grad(), weight.grad(), bias.grad()};
}

using Pair = std::pair<at::Tensor, at::Tensor>;

Found ours(const Values& v, int64_t before, bool through_pool = true, bool through_y = true) {
  return run(v, through_pool, through_y, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) -> Pair {
    const NormPooled all = norm_pool(x, weight, bias, norm_moments(x.detach(), v.options.ends), v.options, before);
    EXPECT_EQ(all.concat_buffer.size(1), before + x.size(1));
    EXPECT_TRUE(all.concat_buffer.is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_TRUE(all.concat_buffer.narrow(1, before, x.size(1)).equal(all.y.detach()));
    return {all.pooled, all.y};
  });
}
Found one_after_another(const Values& v, bool through_pool = true, bool through_y = true) {
  return run(v, through_pool, through_y, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) -> Pair {
    const at::Tensor y = norm_act(x, {}, weight, bias, norm_moments(x.detach(), v.options.ends), v.options);
    return {at::max_pool2d(y, 2, 2), y};
  });
}

// Computes in float64 by libtorch's own operations, from the values that x has in its type.
Found wanted(const Values& v) {
  Values wide{v.x.to(at::kDouble),           v.weight.to(at::kDouble), v.bias.to(at::kDouble),
              v.grad_pooled.to(at::kDouble), v.grad_y.to(at::kDouble), v.options};
  return run(wide, true, true, [&](const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) -> Pair {
    std::vector<at::Tensor> parts;
    int64_t begin = 0;
    for (const int64_t end : v.options.ends) {
      parts.push_back(at::batch_norm(x.narrow(0, begin, end - begin), weight, bias, {}, {}, true, 0, v.options.eps, false));
      begin = end;
    }
    const at::Tensor y = at::cat(parts).relu();
    return {at::max_pool2d(y, 2, 2), y};
  });
}

void expect_near(const Found& found, const Found& expected, double tolerance) {
  for (size_t i = 0; i < found.all().size(); ++i) {
    const auto [name, value] = found.all()[i];
    const at::Tensor other = expected.all()[i].second.to(at::kDouble);
    const double scale = std::max(1.0, other.abs().max().item<double>());
    EXPECT_LE((value.to(at::kDouble) - other).abs().max().item<double>(), tolerance * scale) << name;
  }
}

class NormPool : public ::testing::TestWithParam<PoolCase> {};

TEST_P(NormPool, EqualsNormReluAndPoolInTurn) {
  const PoolCase c = GetParam();
  const Values v = values_of(c);
  const Found found = ours(v, c.before);
  if (c.type != at::kBFloat16) {
    expect_near(found, wanted(v), c.type == at::kDouble ? 1e-10 : 2e-5);
    return;
  }
  // Values that rounding makes equal have their maximum at the first of them, so gradients are compared with those of the same
  // values; the sum of two gradients is rounded there, not here.
  const Found turn = one_after_another(v);
  EXPECT_TRUE(found.y.equal(turn.y));
  EXPECT_TRUE(found.pooled.equal(turn.pooled));
  expect_near(found, turn, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormPool,
                         ::testing::Values(PoolCase{2, 8, 6, 10, 2, 8, at::kBFloat16},
                                           PoolCase{3, 64, 8, 4, 3, 64, at::kBFloat16},
                                           PoolCase{1, 264, 4, 6, 1, 0, at::kBFloat16},
                                           PoolCase{2, 24, 4, 4, 2, 4, at::kBFloat16}, PoolCase{2, 5, 4, 6, 1, 3, at::kDouble},
                                           PoolCase{5, 8, 2, 2, 2, 8, at::kDouble}, PoolCase{2, 64, 32, 34, 2, 0, at::kFloat},
                                           PoolCase{1, 1, 6, 2, 1, 1, at::kFloat}, PoolCase{2, 16, 60, 62, 1, 16, at::kFloat}));

TEST(NormPools, TakeEitherGradientAlone) {
  const Values v = values_of({2, 8, 6, 4, 2, 8, at::kDouble});
  expect_near(ours(v, 8, true, false), one_after_another(v, true, false), 1e-12);
  expect_near(ours(v, 8, false, true), one_after_another(v, false, true), 1e-12);
}

TEST(NormPools, ConstantMomentsAndMaskedGroupsAsNormAct) {
  Values v = values_of({4, 8, 6, 4, 2, 8, at::kDouble});
  v.options.masked_groups = {1};
  expect_near(ours(v, 8), one_after_another(v), 1e-12);
  v.options.masked_groups = {};
  v.options.constant_moments = true;
  expect_near(ours(v, 8), one_after_another(v), 1e-12);
}

TEST(NormPools, AreTheSameBitsTwice) {
  const Values v = values_of({3, 64, 16, 16, 3, 64, at::kBFloat16});
  const Found first = ours(v, 64), second = ours(v, 64);
  for (size_t i = 0; i < first.all().size(); ++i) EXPECT_TRUE(first.all()[i].second.equal(second.all()[i].second));
}

TEST(NormPools, SayWhatDoesNotFit) {
  const Values v = values_of({2, 8, 6, 4, 2, 0, at::kFloat});
  const at::Tensor odd = v.x.narrow(2, 0, 5).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_FALSE(can_fuse_norm_pool(odd, v.weight));
  EXPECT_FALSE(can_fuse_norm_pool(v.x.contiguous(), v.weight));
  EXPECT_THROW(norm_pool(odd, v.weight, v.bias, norm_moments(odd, {2}), v.options, 0), Error);
  const at::Tensor moments = norm_moments(v.x, {1, 2});
  const auto with_ends = [&](const std::vector<int64_t>& ends) {
    NormActOptions options = v.options;
    options.ends = ends;
    return norm_pool(v.x, v.weight, v.bias, moments.narrow(0, 0, static_cast<int64_t>(ends.size())), options, 0);
  };
  EXPECT_EQ(with_ends({1, 2}).y.sizes(), v.x.sizes());
  for (const std::vector<int64_t>& wrong : std::vector<std::vector<int64_t>>{{2, 1}, {2, 2}, {0, 2}, {1, 3}, {1}, {}}) {
    EXPECT_THROW(with_ends(wrong), Error) << ::testing::PrintToString(wrong);
  }
  NormActOptions halves = v.options;
  halves.ends = {1, 2};
  EXPECT_THROW(norm_pool(v.x, v.weight, v.bias.narrow(0, 0, 7), moments, halves, 0), Error);
}

}  // namespace
}  // namespace tessera
