#include "storage/sha256.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

// The examples of the standard (FIPS 180-4).
TEST(Sha256, ExamplesOfTheStandard) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, FilesOfManyPieces) {
  testing::TempFolder folder;
  const std::string content(3'000'001, 'x');
  write_file(folder / "f", content);
  EXPECT_EQ(sha256_of_file(folder / "f"), sha256_of(content));
  EXPECT_CONTAINS(testing::message_of([&] { sha256_of_file(folder / "absent"); }), "absent");
}

}  // namespace
}  // namespace tessera
