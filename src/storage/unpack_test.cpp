#include "storage/unpack.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "core/files.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/tar_files.h"
#include "support/zip_files.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TarMaker;
using testing::TempFolder;

std::vector<uint8_t> gzipped(const std::vector<uint8_t>& content) {
  std::vector<uint8_t> packed(compressBound(content.size()) + 64);
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// The message of unpacking these bytes, "" where it went well.
std::string unpack_bytes(const TempFolder& folder, const std::vector<uint8_t>& bytes, UnpackOptions options = {}) {
  write_file(folder / "archive", bytes);
  fs::remove_all(folder / "out");
  return message_of([&] { unpack_archive(folder / "archive", folder / "out", options); });
}

std::vector<uint8_t> small_zip() {
  ZipWriter zip;
  zip.add("set/images/a.png", testing::bytes_of("image"));
  zip.add("set/masks/a.png", testing::bytes_of("mask"));
  zip.add("__MACOSX/set/._a.png", testing::bytes_of("junk"));
  zip.add("readme.txt", testing::bytes_of("beside"));
  return zip.finish();
}

TEST(Unpack, TakesZipTarAndTarGzAlike) {
  const TempFolder folder;
  const std::vector<uint8_t> tar = TarMaker()
                                       .add("set/", "", '5')
                                       .add("set/images/a.png", "image")
                                       .add("set/masks/a.png", "mask")
                                       .add("readme.txt", "beside")
                                       .finish();
  for (const std::vector<uint8_t>& archive : {small_zip(), tar, gzipped(tar)}) {
    ASSERT_EQ(unpack_bytes(folder, archive), "");
    EXPECT_EQ(read_text(folder / "out/set/images/a.png"), "image");
    EXPECT_EQ(list_files(folder / "out").size(), 3U);
    ASSERT_EQ(unpack_bytes(folder, archive, {.strip = "set", .max_bytes = UINT64_MAX, .taken = {}}), "");
    EXPECT_EQ(read_text(folder / "out/masks/a.png"), "mask");
    EXPECT_EQ(list_files(folder / "out").size(), 2U) << "what is not below the stripped folder is left out";
  }
}

TEST(Unpack, NamesThatLeadOutAreRefused) {
  const TempFolder folder;
  for (const char* name : {"../evil", "a/../../evil", "/tmp/tessera-evil", "a\\..\\evil"}) {
    ZipWriter zip;
    zip.add(name, testing::bytes_of("x"));
    EXPECT_CONTAINS(unpack_bytes(folder, zip.finish()), "is not trusted");
    EXPECT_CONTAINS(unpack_bytes(folder, TarMaker().add(name, "x").finish()), "is not trusted");
  }
  EXPECT_FALSE(fs::exists(folder / "evil"));
}

TEST(Unpack, LinksAndDevicesAreRefused) {
  const TempFolder folder;
  for (const char type : {'1', '2', '3', '6'})
    EXPECT_CONTAINS(unpack_bytes(folder, TarMaker().add("a", "", type).finish()), "is a link or a device");
  ZipWriter zip;
  zip.add("a", testing::bytes_of("/etc/passwd"));
  std::vector<uint8_t> file = zip.finish();
  const size_t central = file.size() - 22 - 47;
  file[central + 5] = 3;          // made on Unix
  file[central + 38 + 3] = 0xA1;  // S_IFLNK
  EXPECT_CONTAINS(unpack_bytes(folder, file), "is a link or a device");
}

TEST(Unpack, DamageIsFound) {
  const TempFolder folder;
  std::vector<uint8_t> zip = small_zip();
  const std::string text(zip.begin(), zip.end());
  zip[text.find("image", text.find("a.png"))] ^= 1;  // of the content, behind the first name
  EXPECT_CONTAINS(unpack_bytes(folder, zip), "checksum or size");
  const std::vector<uint8_t> tar = TarMaker().add("a", std::string(3000, 'x')).add("b", "y").finish(), packed = gzipped(tar);
  for (size_t size = 0; size < tar.size() - 1023; size += 100)
    EXPECT_NE(unpack_bytes(folder, {tar.begin(), tar.begin() + static_cast<int64_t>(size)}), "") << size;
  for (size_t size = 0; size + 12 < packed.size(); ++size)
    EXPECT_NE(unpack_bytes(folder, {packed.begin(), packed.begin() + static_cast<int64_t>(size)}), "") << size;
  EXPECT_CONTAINS(unpack_bytes(folder, TarMaker().add("a", "1").add("a", "2").finish()), "two entries 'a'");
  EXPECT_CONTAINS(unpack_bytes(folder, {'h', 'e', 'l', 'l', 'o'}), "no archive that can be unpacked");
}

TEST(Unpack, BombsAreRefused) {
  const TempFolder folder;
  const Blob bomb = testing::deflated_zip("x", std::vector<uint8_t>(5'000'000), 5'000'000);
  const std::vector<uint8_t> bytes(bomb.bytes.begin(), bomb.bytes.end());
  EXPECT_EQ(unpack_bytes(folder, bytes), "");
  EXPECT_CONTAINS(unpack_bytes(folder, bytes, {.strip = "", .max_bytes = 4'000'000, .taken = {}}), "more than 4000000 bytes");
  EXPECT_CONTAINS(unpack_bytes(folder, gzipped(TarMaker().add("x", std::string(5'000'000, '\0')).finish()),
                               {.strip = "", .max_bytes = 4'000'000, .taken = {}}),
                  "more than 4000000 bytes");
}

TEST(Unpack, LongNamesOfPaxAndGnuAreRead) {
  const TempFolder folder;
  const std::string name = "deep/" + std::string(150, 'n') + ".png";
  const std::string line = " path=" + name + "\n", pax = std::to_string(line.size() + 3) + line;
  ASSERT_EQ(unpack_bytes(folder, TarMaker().add("pax", pax, 'x').add("short", "1").finish()), "");
  EXPECT_EQ(read_text(folder / ("out/" + name)), "1");
  ASSERT_EQ(unpack_bytes(folder, TarMaker().add("././@LongLink", name + '\0', 'L').add("short", "2").finish()), "");
  EXPECT_EQ(read_text(folder / ("out/" + name)), "2");
  EXPECT_NE(unpack_bytes(folder, TarMaker().add("pax", "999 path=a\n", 'x').add("short", "1").finish()), "");
}

}  // namespace
}  // namespace tessera
