#include "core/module_path.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ModulePath, PartsEndWhereNamesDo) {
  EXPECT_TRUE(is_part_of("layer1.0.weight", "layer1"));
  EXPECT_TRUE(is_part_of("layer1.0.weight", "layer1.0"));
  EXPECT_TRUE(is_part_of("pos_embed", "pos_embed"));
  EXPECT_FALSE(is_part_of("layer10.weight", "layer1"));
  EXPECT_FALSE(is_part_of("layer1", "layer1.0"));
}

}  // namespace
}  // namespace tessera
