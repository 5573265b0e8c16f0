#include "study/space/space.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

Parameter rate() {
  Parameter p{.name = "optimizer.lr", .low = 1e-4, .high = 1e-1};
  p.log = true;
  return p;
}

Parameter model() {
  Parameter p{.name = "model.name", .kind = Parameter::Kind::kChoice};
  p.choices = {{"\"unet\"", {"model.name=unet"}}, {"\"fcn\"", {"model.name=fcn"}}};
  return p;
}

Parameter convs() {
  Parameter p{.name = "model.unet.convs", .kind = Parameter::Kind::kInteger, .low = 1, .high = 4, .step = 1};
  p.when = Condition{"model.name", {0}};
  return p;
}

TEST(Space, ParametersFollowTheirConditions) {
  const Space space({convs(), rate(), model()});
  EXPECT_EQ(space.parameters()[0].name, "optimizer.lr");
  EXPECT_EQ(space.parameters()[1].name, "model.name");
  EXPECT_EQ(space.parameters()[2].name, "model.unet.convs");
}

TEST(Space, OverridesLeaveOutWhatIsNotInUse) {
  const Space space({convs(), rate(), model()});
  const Assignment unet = space.cleaned({{"optimizer.lr", 0.01}, {"model.name", 0}, {"model.unet.convs", 2.2}});
  EXPECT_EQ(space.text(unet), "optimizer.lr=0.01 model.name=unet model.unet.convs=2");
  EXPECT_EQ(space.overrides(unet), (std::vector<std::string>{"optimizer.lr=0.01", "model.name=unet", "model.unet.convs=2"}));
  EXPECT_EQ(space.cleaned({{"optimizer.lr", 0.01}, {"model.name", 1}, {"model.unet.convs", 2}}).size(), 2u);
}

TEST(Space, FragmentsComeFirstSoThatKeysChangeThem) {
  Parameter recipe{.name = "recipe", .kind = Parameter::Kind::kChoice};
  recipe.choices = {{"\"small\"", {"model.name=unet", "optimizer.lr=1"}}, {"\"large\"", {"model.name=fcn"}}};
  const Space space({rate(), recipe});
  EXPECT_EQ(space.overrides({{"optimizer.lr", 0.01}, {"recipe", 0}}),
            (std::vector<std::string>{"model.name=unet", "optimizer.lr=1", "optimizer.lr=0.01"}));
}

TEST(Space, NamesNearestParameterAndCircles) {
  try {
    Space({model()}).at("model.nam");
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'model.name'"), std::string::npos) << e.what();
  }
  Parameter a = model(), b = model();
  a.name = "a", b.name = "b";
  a.when = Condition{"b", {0}}, b.when = Condition{"a", {0}};
  EXPECT_THROW(Space({a, b}), UsageError);
}

TEST(Parameter, SharesAreTheDistribution) {
  EXPECT_NEAR(rate().at_share(0), 1e-4, 1e-18);
  EXPECT_NEAR(rate().at_share(1.0 / 3), 1e-3, 1e-15);
  Parameter stepped{.name = "m", .low = 0.1, .high = 0.35, .step = 0.1};
  EXPECT_EQ(stepped.cardinality(), 3);
  EXPECT_EQ(stepped.at_share(0.99), 0.3);
  EXPECT_EQ(stepped.at_share(0.34), 0.2);
  EXPECT_TRUE(stepped.contains(0.3));
  EXPECT_FALSE(stepped.contains(0.25));
  Parameter normal{.name = "n", .low = -3, .high = 5};
  normal.normal = Parameter::Normal{1, 1};
  EXPECT_NEAR(normal.at_share(0.5), 1, 1e-12);
}

// Steps as they are written, 0.3 rather than 0.1 + 0.1 + 0.1, but never another step than the one meant.
TEST(Parameter, StepsAreKeptHoweverLargeOrSmall) {
  const std::vector<Parameter> all = {
      {.name = "tenths", .low = 0.3, .high = 0.9, .step = 0.1},
      {.name = "uneven", .low = 0, .high = 1, .step = 0.3},
      {.name = "large", .kind = Parameter::Kind::kInteger, .low = 1, .high = 1e15, .step = 1},
      {.name = "fine", .low = 1e9, .high = 1e9 + 1, .step = 0.0001},
      {.name = "below zero", .low = -0.7, .high = 0.7, .step = 0.1},
  };
  for (const Parameter& p : all) {
    for (int i = 0; i <= 100; ++i) {
      const double value = p.at_share(i / 100.0);
      EXPECT_TRUE(p.contains(value)) << p.name << " " << value;
      EXPECT_EQ(p.snapped(value), value) << p.name;
    }
    EXPECT_FALSE(p.contains(p.low - p.step)) << p.name;
    EXPECT_FALSE(p.contains(p.snapped(p.high) + p.step)) << p.name;
    EXPECT_FALSE(p.contains(std::numeric_limits<double>::quiet_NaN())) << p.name;
  }
  EXPECT_EQ(all[0].snapped(0.31), 0.3);
  EXPECT_EQ(all[2].snapped(123456789012345), 123456789012345);
}

TEST(Parameter, ChoicesAreCalledAsTheyAreShownOrWritten) {
  Parameter p{.name = "optimizer.lr", .kind = Parameter::Kind::kChoice};
  p.choices = {{"0.001", {"optimizer.lr=1e-3"}}, {"\"auto\"", {"optimizer.lr=auto"}}};
  EXPECT_EQ(p.choice_called("1e-3"), 0);
  EXPECT_EQ(p.choice_called("0.001"), 0);
  EXPECT_EQ(p.choice_called("auto"), 1);
  EXPECT_FALSE(p.choice_called("1e-4"));
}

TEST(Parameter, SharesGoThereAndBack) {
  Parameter normal{.name = "n", .low = -6, .high = 6};
  normal.normal = Parameter::Normal{1, 0.5};
  Parameter choice{.name = "c", .kind = Parameter::Kind::kChoice, .choices = {{"1"}, {"2"}, {"3"}}};
  const std::vector<Parameter> all = {
      {.name = "x", .low = -2, .high = 3},
      {.name = "lr", .low = 1e-4, .high = 1e-1, .log = true},
      {.name = "k", .low = 0, .high = 1, .step = 0.3},  // up to 0.9
      {.name = "n", .kind = Parameter::Kind::kInteger, .low = 1, .high = 64, .step = 1, .log = true},
      {.name = "fixed", .low = 2, .high = 2},
      normal,
      choice,
  };
  for (const Parameter& p : all) {
    for (int i = 0; i <= 20; ++i) {
      const double value = p.at_share(i / 20.0);
      EXPECT_NEAR(p.at_share(p.share_of(value)), value, 1e-9) << p.name << " " << value;
    }
    EXPECT_GE(p.share_of(p.low), 0);
    EXPECT_LE(p.share_of(p.high), 1);
  }
}

}  // namespace
}  // namespace tessera
