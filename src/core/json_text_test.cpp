#include "core/json_text.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(JsonText, BytesThatAreNoUtf8AreReplaced) {
  const nlohmann::json value{{"lat\xe9.png", "ends in \xe2\x82"}, {"whole", "größe"}};
  const nlohmann::json back = nlohmann::json::parse(json_text(value));
  EXPECT_EQ(back.at("lat\xef\xbf\xbd.png"), "ends in \xef\xbf\xbd");
  EXPECT_EQ(back.at("whole"), "größe");
}

TEST(JsonText, IndentsLikeDump) {
  const nlohmann::json value{{"a", {1, 2}}};
  EXPECT_EQ(json_text(value), R"({"a":[1,2]})");
  EXPECT_EQ(json_text(value, 2), value.dump(2));
}

TEST(JsonText, ANameStaysEqualToItselfAfterReading) {
  for (const char* name : {"lat\xe9", "größe", "a \"b\" \\ c\n", ""}) {
    EXPECT_EQ(nlohmann::json::parse(json_text(name)).get<std::string>(), json_name(name));
    EXPECT_EQ(json_name(json_name(name)), json_name(name));
  }
  EXPECT_EQ(json_name("größe"), "größe");
}

}  // namespace
}  // namespace tessera
