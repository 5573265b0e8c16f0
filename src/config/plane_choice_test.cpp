#include "config/plane_choice.h"

#include <gtest/gtest.h>

#include "support/messages.h"

namespace tessera {
namespace {

TEST(PlaneChoice, WordsAndNumbers) {
  EXPECT_EQ(parse_plane_choice("z", "all"), PlaneChoice{});
  EXPECT_EQ(parse_plane_choice("z", "middle").kind, PlaneChoice::Kind::kMiddle);
  EXPECT_EQ(parse_plane_choice("z", "max").kind, PlaneChoice::Kind::kMax);
  EXPECT_EQ(parse_plane_choice("z", "12"), (PlaneChoice{PlaneChoice::Kind::kOne, 12}));
}

TEST(PlaneChoice, AnythingElseNamesTheKeyAndWhatIsExpected) {
  for (const char* text : {"", "-1", "2.5", "3x", "Max", "99999999999999999999"}) {
    EXPECT_EQ(testing::message_of<UsageError>([&] { parse_plane_choice("data.image.z", text); }),
              "data.image.z is '" + std::string(text) + "': expected all, middle, max or a number from 0");
  }
}

}  // namespace
}  // namespace tessera
