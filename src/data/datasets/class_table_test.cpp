#include "data/datasets/class_table.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(ClassTable, ConfigRenamesAndRecolours) {
  DataConfig config;
  EXPECT_EQ(make_class_table(config, {"a", "b"}).names[1], "b");
  EXPECT_EQ(make_class_table(config, {"a", "b"}, {{1, 2, 3}, {4, 5, 6}}).palette[1], (Color{4, 5, 6}));
  config.classes = {"x", "y"};
  config.palette = {{0, 0, 0}, {255, 0, 9}};
  const ClassTable table = make_class_table(config, {"a", "b"});
  EXPECT_EQ(table.names[0], "x");
  EXPECT_EQ(table.palette[1], (Color{255, 0, 9}));
}

TEST(ClassTable, NamesAreAsACheckpointGivesThemBack) {
  DataConfig config;
  EXPECT_EQ(make_class_table(config, {"gr\xfcn", "größe"}).names, (std::vector<std::string>{"gr\xef\xbf\xbdn", "größe"}));
  config.classes = {"\xe9t\xe9"};
  EXPECT_EQ(make_class_table(config, {"a"}).names[0], "\xef\xbf\xbdt\xef\xbf\xbd");
}

TEST(ClassTable, ANameGivenTwiceIsRefused) {
  DataConfig config;
  config.classes = {"a", "b", "c", "b"};
  EXPECT_EQ(testing::message_of<UsageError>([&] {
              make_class_table(config, {"1", "2", "3", "4"});
            }),
            "data.classes names 'b' twice, as class 1 and 3: expected a different name for each class");
}

TEST(ClassTable, LengthsMustMatch) {
  DataConfig config;
  config.classes = {"x"};
  EXPECT_THROW(make_class_table(config, {"a", "b"}), UsageError);
  config.classes.clear();
  config.palette = {{0, 0, 0}};
  EXPECT_THROW(make_class_table(config, {"a", "b"}), UsageError);
  config.palette = {{0, 0, 0}, {1, 2}};
  EXPECT_THROW(make_class_table(config, {"a", "b"}), UsageError);
  config.palette = {{0, 0, 0}, {1, 2, 256}};
  EXPECT_THROW(make_class_table(config, {"a", "b"}), UsageError);
}

TEST(ClassTable, ClassZeroIsBlackOnlyWhereItIsBackground) {
  const Color black{0, 0, 0};
  DataConfig config;
  EXPECT_EQ(make_class_table(config, {"Background", "cell"}).palette[0], black);
  EXPECT_NE(make_class_table(config, {"sky", "road"}).palette[0], black);
  EXPECT_EQ(make_class_table(config, {"sky", "road"}).palette[0], make_class_table(config, {"void", "road"}).palette[1]);
  config.labels.binary = true;
  EXPECT_EQ(make_class_table(config, {"soil", "root"}).palette[0], black);
  EXPECT_EQ(background_class({"a", "b", "c"}, true), std::nullopt);
  EXPECT_EQ(background_class({"BG", "b", "c"}, false), 0);
  EXPECT_EQ(background_class({}, false), std::nullopt);
}

TEST(ClassTable, SplitsMustHaveTheSameClasses) {
  check_same_classes({"a", "b"}, {"a", "b"}, "val");
  const auto message = [](const std::vector<std::string>& other) {
    return testing::message_of([&] { check_same_classes({"bg", "a", "b"}, other, "val"); });
  };
  EXPECT_CONTAINS(message({"bg", "b", "a"}), "class 1 is 'a' in train and 'b' in val");
  EXPECT_CONTAINS(message({"bg", "a"}), "(3 and 2): class 2 is 'b' in train and not there in val");
}

}  // namespace
}  // namespace tessera
