#include "study/schedule/copies.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

TEST(Copies, AreInTheAttributes) {
  Trial trial{.number = 0, .parameters = {{"lr", 0.1}}};
  EXPECT_EQ(current_parameters(trial), (Assignment{{"lr", 0.1}}));
  add_copy(trial, {4, 2, {{"lr", 0.2}}});
  add_copy(trial, {8, 1, {{"lr", 0.16}}});
  trial.attributes = nlohmann::json::parse(trial.attributes.dump());  // as from the store
  EXPECT_EQ(copies_of(trial), (std::vector<Copy>{{4, 2, {{"lr", 0.2}}}, {8, 1, {{"lr", 0.16}}}}));
  EXPECT_EQ(current_parameters(trial), (Assignment{{"lr", 0.16}}));
}

TEST(Copies, HistoryFollowsTheWeights) {
  // Trial 0 took trial 1's weights at 8; trial 1 had taken trial 2's at 4, and took others at 8 after it was copied.
  std::vector<Trial> trials(3);
  for (int64_t i = 0; i < 3; ++i) {
    Trial& trial = trials[static_cast<size_t>(i)];
    trial = {.number = i, .parameters = {{"lr", static_cast<double>(i)}}, .reports = {{4, 0}, {8, 0}, {12, 0}}};
  }
  add_copy(trials[1], {4, 2, {{"lr", 0.5}}});
  add_copy(trials[1], {8, 2, {{"lr", 9}}});
  add_copy(trials[0], {8, 1, {{"lr", 0.25}}});
  EXPECT_EQ(history_of(trials, 0), (std::vector<Stretch>{{4, 2, {{"lr", 2}}}, {8, 1, {{"lr", 0.5}}}, {12, 0, {{"lr", 0.25}}}}));
  EXPECT_EQ(history_of(trials, 2), (std::vector<Stretch>{{12, 2, {{"lr", 2}}}}));
  add_copy(trials[0], {10, 7, {{"lr", 1}}});
  EXPECT_THROW(history_of(trials, 0), Error);
}

}  // namespace
}  // namespace tessera
