#include "apps/command.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;
using testing::message_of;

TEST(Command, AFolderAnArchiveOrAUrlIsData) {
  const testing::TempFolder root;
  fs::create_directories(root / "cells");
  const std::string cells = (root / "cells").string();
  const ConfigArguments folder{.config = "", .words = {"unet", cells, "data.channels=1"}};
  EXPECT_EQ(folder.file(), "unet");
  EXPECT_EQ(folder.overrides(), (Words{"data.path=" + cells, "data.channels=1"}));
  const ConfigArguments url{.config = "", .words = {"s3://bucket/cells?sig=a", "run.upload=s3://bucket/runs"}};
  EXPECT_EQ(url.file(), "");
  EXPECT_EQ(url.overrides(), (Words{"data.path=s3://bucket/cells?sig=a", "run.upload=s3://bucket/runs"}));
  const ConfigArguments two{.config = "", .words = {cells, root.path().string()}};
  EXPECT_CONTAINS(message_of([&] { two.overrides(); }), "two places of data");
}

TEST(Command, ARunIsNoData) {
  const testing::TempFolder root;
  fs::create_directories(root / "run/checkpoints");
  const ConfigArguments run{.config = "", .words = {(root / "run").string()}};
  EXPECT_CONTAINS(message_of([&] { run.file(); }), "run is a run, and a config or data was expected");
}

// A config goes first, so that a folder which somebody called so changes nothing.
TEST(Command, AFolderCalledAsAConfigIsTheConfig) {
  const testing::TempFolder root;
  const fs::path before = fs::current_path();
  fs::create_directories(root / "demo");
  fs::current_path(root.path());
  const ConfigArguments config{.config = "", .words = {"demo"}};
  EXPECT_EQ(config.file(), "demo");
  EXPECT_TRUE(config.overrides().empty());
  const ConfigArguments folder{.config = "", .words = {"./demo"}};
  EXPECT_EQ(folder.overrides(), Words{"data.path=./demo"});
  fs::current_path(before);
}

}  // namespace
}  // namespace tessera
