#include "storage/zip.h"

#include <gtest/gtest.h>

#include "storage/zip_writer.h"
#include "support/messages.h"
#include "support/zip_files.h"

namespace tessera {
namespace {

using testing::deflated_zip;
using testing::message_of;

std::string text_of(const Blob& blob) {
  return {blob.bytes.begin(), blob.bytes.end()};
}

std::string open_and_read(const Blob& file) {
  return message_of([&] {
    Zip zip(file, "f");
    for (const ZipEntry& entry : zip.entries()) zip.read(entry);
  });
}

TEST(Zip, ReadsWhatTheWriterWroteAlignedAndWithZip64) {
  for (const uint64_t zip64_from : {uint64_t{0xFFFFFFFF}, uint64_t{4}}) {
    ZipWriter writer(zip64_from);
    writer.add("a", testing::bytes_of("hello"), 64);
    writer.add("folder/b", testing::bytes_of("world!"));
    writer.add("empty", {}, 64);
    Zip zip(own_bytes(writer.finish()), "f");
    ASSERT_EQ(zip.entries().size(), 3U);
    EXPECT_EQ(zip.find("a")->offset % 64, 0U);
    EXPECT_EQ(text_of(zip.read(*zip.find("a"))), "hello");
    EXPECT_EQ(text_of(zip.read(*zip.find("folder/b"))), "world!");
    EXPECT_EQ(zip.read(*zip.find("empty")).size(), 0U);
    EXPECT_EQ(zip.find("c"), nullptr);
  }
}

TEST(Zip, UnpacksDeflatedEntriesAndChecksThem) {
  const std::vector<uint8_t> content(5000, 7);
  Zip zip(deflated_zip("x", content, 5000), "f");
  const Blob read = zip.read(zip.entries()[0]);
  EXPECT_TRUE(std::equal(read.bytes.begin(), read.bytes.end(), content.begin(), content.end()));
  EXPECT_CONTAINS(open_and_read(deflated_zip("x", content, 4999)), "does not unpack to the 4999 bytes");
  EXPECT_CONTAINS(open_and_read(deflated_zip("x", content, 5001)), "does not unpack to the 5001 bytes");
  Blob damaged = deflated_zip("x", content, 5000);
  std::vector<uint8_t> bytes(damaged.bytes.begin(), damaged.bytes.end());
  const size_t central = bytes.size() - 22 - 47;
  bytes[central + 16] ^= 1;
  EXPECT_CONTAINS(open_and_read(own_bytes(bytes)), "checksum");
}

TEST(Zip, BombsAreRefusedBeforeTheyUnpack) {
  EXPECT_CONTAINS(open_and_read(deflated_zip("x", std::vector<uint8_t>(1000), 3'000'000'000U)), "claims 3000000000 bytes");
  // 100 MB of zeros in 100 kB: a true stream, but no weights.
  EXPECT_CONTAINS(open_and_read(deflated_zip("x", std::vector<uint8_t>(100'000'000), 100'000'000)), "not trusted");
}

TEST(Zip, EntriesMayNotOverlapOrRepeat) {
  ZipWriter writer;
  writer.add("a", testing::bytes_of("hello"));
  writer.add("b", testing::bytes_of("hello"));
  std::vector<uint8_t> file = writer.finish();
  const size_t second = file.size() - 22 - 47;  // its directory entry
  std::vector<uint8_t> overlapping = file, repeated = file;
  overlapping[second + 42] = 0;  // where its header lies: on the first
  EXPECT_CONTAINS(open_and_read(own_bytes(overlapping)), "overlap");
  repeated[second + 46] = 'a';
  EXPECT_CONTAINS(open_and_read(own_bytes(repeated)), "two entries 'a'");
}

TEST(Zip, TruncatedAtEveryByteIsAnError) {
  ZipWriter writer(4);
  writer.add("a", testing::bytes_of("hello"), 64);
  const std::vector<uint8_t> file = writer.finish();
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(open_and_read(own_bytes({file.begin(), file.begin() + static_cast<int64_t>(size)})), "") << size;
  }
}

}  // namespace
}  // namespace tessera
