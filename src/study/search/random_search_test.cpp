#include "study/search/random_search.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

Space model_and_convs() {
  Parameter model{.name = "model.name", .kind = Parameter::Kind::kChoice};
  model.choices = {{"\"unet\"", {"model.name=unet"}}, {"\"fcn\"", {"model.name=fcn"}}};
  Parameter convs{.name = "model.unet.convs", .kind = Parameter::Kind::kInteger, .low = 1, .high = 4, .step = 1};
  convs.when = Condition{"model.name", {0}};
  return Space({convs, {.name = "optimizer.lr", .low = 1e-4, .high = 1e-1, .log = true}, model});
}

TEST(RandomSearch, IsAFunctionOfTheNumber) {
  const Space space = model_and_convs();
  RandomSearch search(space, 3), again(space, 3), other(space, 4);
  int with_convs = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const Assignment point = *search.suggest(i);
    EXPECT_EQ(point, *again.suggest(i));
    EXPECT_NE(point, *other.suggest(i));
    EXPECT_EQ(point, space.cleaned(point));
    with_convs += point.count("model.unet.convs");
  }
  EXPECT_GT(with_convs, 70);
  EXPECT_LT(with_convs, 130);
}

TEST(RandomSearch, RepeatsTheGridOfExhaustiveParameters) {
  Parameter seed{.name = "train.seed", .kind = Parameter::Kind::kChoice};
  seed.choices = {{"1", {"train.seed=1"}}, {"2", {"train.seed=2"}}};
  seed.exhaustive = true;
  const Parameter rate{.name = "optimizer.lr", .low = 1e-4, .high = 1e-1, .log = true};
  RandomSearch search(Space({rate, seed}), 0);
  for (int64_t i = 0; i < 10; ++i) EXPECT_EQ(search.suggest(i)->at("train.seed"), static_cast<double>(i % 2));
}

}  // namespace
}  // namespace tessera
