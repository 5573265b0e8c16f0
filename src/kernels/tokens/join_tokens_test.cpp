#include "kernels/tokens/join_tokens.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct Inputs {
  at::Tensor patches, tokens, positions, grad_out;
};

// Values that the shorter types have too.
Inputs make_inputs(int64_t samples, int64_t patches, int64_t tokens, int64_t width) {
  at::manual_seed(width);
  const auto made = [&](at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
  };
  return {made({samples, patches, width}), made({tokens, width}), made({patches + tokens, width}),
          made({samples, patches + tokens, width})};
}

at::Tensor plain(const at::Tensor& patches, const at::Tensor& tokens, const at::Tensor& positions, bool first) {
  const at::Tensor shared = tokens.expand({patches.size(0), -1, -1});
  const at::Tensor joined = first ? at::cat({shared, patches}, 1) : at::cat({patches, shared}, 1);
  return positions.defined() ? joined + positions : joined;
}

// The result and the gradients of patches, tokens and positions.
template <class Compute>
std::vector<at::Tensor> with_gradients(const Inputs& in, at::ScalarType type, at::ScalarType patch_type, bool positioned,
                                       bool first, const Compute& compute) {
  std::vector<at::Tensor> leaves{in.patches.to(patch_type).clone().requires_grad_(),
                                 in.tokens.to(type).clone().requires_grad_()};
  if (positioned) leaves.push_back(in.positions.to(type).clone().requires_grad_());
  const at::Tensor result = compute(leaves[0], leaves[1], positioned ? leaves[2] : at::Tensor(), first);
  std::vector<at::Tensor> all{result.detach()};
  for (const at::Tensor& gradient : torch::autograd::grad({(result.to(at::kDouble) * in.grad_out).sum()}, leaves))
    all.push_back(gradient);
  return all;
}

TEST(JoinTokens, EqualsTorchInBothDirections) {
  for (const auto& [samples, patches, tokens, width] :
       {std::array<int64_t, 4>{2, 9, 1, 64}, {1, 1, 1, 1}, {3, 7, 2, 17}, {19, 5, 3, 12}, {2, 16, 150, 40}, {9, 4, 0, 8}}) {
    const Inputs in = make_inputs(samples, patches, tokens, width);
    for (const bool positioned : {true, false}) {
      for (const bool first : {true, false}) {
        const auto expected = with_gradients(in, at::kDouble, at::kDouble, positioned, first, plain);
        for (const auto& [type, patch_type, tolerance] :
             {std::tuple{at::kDouble, at::kDouble, 1e-12}, std::tuple{at::kFloat, at::kFloat, 1e-6},
              std::tuple{at::kFloat, at::kBFloat16, 1e-6}, std::tuple{at::kFloat, at::kHalf, 1e-6}}) {
          const auto got = with_gradients(in, type, patch_type, positioned, first, join_tokens);
          ASSERT_EQ(got.size(), expected.size());
          EXPECT_EQ(got[0].scalar_type(), type);
          EXPECT_EQ(got[1].scalar_type(), patch_type);
          for (size_t i = 0; i < got.size(); ++i) {
            ASSERT_EQ(got[i].sizes(), expected[i].sizes());
            const at::Tensor apart = (got[i].to(at::kDouble) - expected[i]).abs();
            EXPECT_LT(apart.numel() == 0 ? 0 : apart.max().item<double>(), tolerance * 10) << i << " width " << width;
          }
        }
      }
    }
  }
}

TEST(JoinTokens, WrongShapesAreRefused) {
  const Inputs in = make_inputs(2, 4, 1, 8);
  EXPECT_THROW(join_tokens(in.patches, in.tokens.slice(1, 0, 7), {}, true), Error);
  EXPECT_THROW(join_tokens(in.patches, in.tokens, in.positions.slice(0, 1), true), Error);
}

}  // namespace
}  // namespace tessera
