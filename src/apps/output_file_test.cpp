#include "apps/output_file.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(OutputFile, ItsFolderIsMadeAndNothingElse) {
  const testing::TempFolder folder;
  check_output_file(folder / "missing/deep/e.json");
  EXPECT_TRUE(fs::is_directory(folder / "missing/deep"));
  EXPECT_TRUE(fs::is_empty(folder / "missing/deep"));
}

TEST(OutputFile, AFileThatIsThereStaysAsItWas) {
  const testing::TempFolder folder;
  write_file(folder / "e.json", std::string_view("earlier"));
  check_output_file(folder / "e.json");
  EXPECT_EQ(read_text(folder / "e.json"), "earlier");
}

TEST(OutputFile, WhatCannotBeWrittenIsSaidAtOnce) {
  const testing::TempFolder folder;
  write_file(folder / "file", std::string_view("no folder"));
  for (const fs::path& path : {folder / "file/e.json", fs::path("/proc/e.json"), folder.path(), folder / "new/"}) {
    EXPECT_CONTAINS(testing::message_of([&] { check_output_file(path); }),
                    "the output file " + path.string() + " cannot be written: ");
  }
}

}  // namespace
}  // namespace tessera
