#include "data/check/config_snippet.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ConfigSnippet, GroupsKeysAsAConfigHasThem) {
  EXPECT_EQ(config_snippet({"data.labels.binary=true", "run.name=cells", "data.channels=1", "data.labels.map={0: 0, 7: 1}"}),
            "data:\n  channels: 1\n  labels:\n    binary: true\n    map: {0: 0, 7: 1}\nrun:\n  name: cells\n");
  EXPECT_EQ(config_snippet({}), "");
}

}  // namespace
}  // namespace tessera
