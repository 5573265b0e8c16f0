#include "storage/file_store.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(FileStore, AFolderListsAndOpensItsFilesAndRefusesThoseOfAnotherSize) {
  testing::TempFolder folder;
  make_folders(folder / "train");
  write_file(folder / "train/shard.1", "four");
  write_file(folder / "train/shard.0", "");
  write_file(folder / "index.json", "{}");
  const auto store = open_file_store((folder / "").string());
  EXPECT_EQ(store->list("train/"), (std::vector<std::string>{"train/shard.0", "train/shard.1"}));
  EXPECT_EQ(store->open("train/shard.1").size(), 4U);
  EXPECT_EQ(store->open("train/shard.1", {.bytes = 4, .hashes = {}}).size(), 4U);
  EXPECT_CONTAINS(testing::message_of([&] { store->open("train/shard.1", {.bytes = 5, .hashes = {}}); }),
                  "has 4 bytes, expected 5");
  EXPECT_CONTAINS(testing::message_of([&] { store->open("absent"); }), "absent");
  EXPECT_CONTAINS(testing::message_of([&] { open_file_store((folder / "no").string()); }), "no such folder");
}

}  // namespace
}  // namespace tessera
