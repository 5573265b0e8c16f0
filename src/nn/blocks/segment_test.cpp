#include "nn/blocks/segment.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/blocks/conv.h"

namespace tessera {
namespace {

class TwoLayers : public torch::nn::Module {
 public:
  TwoLayers() {
    first = register_module("first", std::make_shared<ConvBlock>(2, 3, ConvShape{}));
    second = register_module("second", std::make_shared<ConvBlock>(3, 4, ConvShape{}));
    scale = register_parameter("scale", torch::ones({1}));
  }
  std::shared_ptr<ConvBlock> first, second;
  at::Tensor scale;
};

std::string error_of(std::vector<Segment> segments) {
  try {
    bind_segments(segments, TwoLayers());
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Segment, CarriedTensorsStayWhereTheyAre) {
  const Segment swap{.name = "swap", .compute = [](const Tensors& in) -> Tensors { return {in[1], in[0]}; }, .carried = 1};
  const Tensors state{torch::full({1}, 0.0), torch::full({1}, 1.0), torch::full({1}, 2.0)}, after = swap.run(state);
  ASSERT_EQ(after.size(), 3U);
  for (const size_t i : {0, 1, 2}) EXPECT_TRUE(after[i].is_same(state[(3 - i) % 3])) << i;
}

TEST(Segment, BindingFindsParametersAndBuffers) {
  TwoLayers model;
  std::vector<Segment> segments{layer_segment("first", model.first), {.name = "rest", .parts = {"second", "scale"}}};
  bind_segments(segments, model);
  EXPECT_EQ(segments[0].parameters.size(), 3U);
  EXPECT_EQ(segments[1].parameters.size(), 4U);
  EXPECT_EQ(segments[0].buffers.size(), 2U);
  EXPECT_EQ(segments[0].parts, std::vector<std::string>{"first"});
}

TEST(Segment, WhatBelongsToNoneOrToSeveralIsAnError) {
  EXPECT_EQ(error_of({{.name = "all", .parts = {"first", "second", "scale"}}}), "");
  EXPECT_NE(error_of({{.name = "all", .parts = {"first", "second"}}}).find("'scale' belongs to no segment"), std::string::npos);
  EXPECT_NE(error_of({{.name = "a", .parts = {"first", "scale"}}, {.name = "b", .parts = {"second", "first.bn"}}})
                .find("'first.bn.weight' belongs to the segments 'a' and 'b'"),
            std::string::npos);
  EXPECT_NE(error_of({{.name = "a"}, {.name = "a"}}).find("two segments are called 'a'"), std::string::npos);
  EXPECT_NE(error_of({{.name = "first", .parts = {"first", "second", "scale"}}}).find("segment 'first' has the name of"),
            std::string::npos);
}

TEST(Segment, OnlyThoseOfAModelAreCheckpointed) {
  TwoLayers model;
  int runs = 0;
  std::vector<Segment> segments{{.name = "all",
                                 .parts = {"first", "second", "scale"},
                                 .compute = [&](const Tensors& in) -> Tensors {
                                   ++runs;
                                   return {model.second->forward(model.first->forward(in[0])) * model.scale};
                                 },
                                 .checkpoint = true}};
  const at::Tensor x = torch::rand({2, 2, 3, 3});
  run_segments(segments, {x})[0].sum().backward();
  EXPECT_EQ(runs, 1);
  bind_segments(segments, model);
  run_segments(segments, {x})[0].sum().backward();
  EXPECT_EQ(runs, 3);
}

TEST(Segment, SizesTravelWithoutValues) {
  const at::Tensor size = size_tensor(torch::rand({2, 3, 5, 7}));
  EXPECT_EQ(size.numel(), 0);
  EXPECT_EQ(size.size(2), 5);
  EXPECT_EQ(size.size(3), 7);
}

}  // namespace
}  // namespace tessera
