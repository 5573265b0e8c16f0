#include "storage/tar.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::vector<uint8_t> vector_of(const std::string& text) {
  return {text.begin(), text.end()};
}

struct Found {
  std::string name, content;
  friend bool operator==(const Found&, const Found&) = default;
};

std::vector<Found> read_all(const std::vector<uint8_t>& archive) {
  std::vector<Found> found;
  TarReader reader(archive, "a.tar");
  while (const auto member = reader.next()) {
    const auto begin = archive.begin() + static_cast<std::ptrdiff_t>(member->offset);
    found.push_back({member->name, std::string(begin, begin + static_cast<std::ptrdiff_t>(member->size))});
  }
  return found;
}

const std::string kLong = std::string(90, 'a') + "/" + std::string(90, 'b') + "/" + std::string(90, 'c') + ".jpg";
const std::string kSplit = std::string(90, 'a') + "/" + std::string(90, 'b') + ".jpg";

std::vector<uint8_t> three_files() {
  std::vector<uint8_t> archive;
  for (const std::string& name : {std::string("x.jpg"), kSplit, kLong}) put_tar_member(archive, name, vector_of("of " + name));
  end_tar(archive);
  return archive;
}

// A header as another program might write it; the checksum is made to fit.
std::vector<uint8_t> header(const std::string& name, const std::string& size, char type) {
  std::vector<uint8_t> block(kTarBlock);
  std::copy(name.begin(), name.end(), block.begin());
  std::copy(size.begin(), size.end(), block.begin() + 124);
  block[156] = static_cast<uint8_t>(type);
  std::fill(block.begin() + 148, block.begin() + 156, ' ');
  unsigned sum = 0;
  for (const uint8_t byte : block) sum += byte;
  const std::string text = fmt::format("{:06o}", sum);
  std::copy(text.begin(), text.end(), block.begin() + 148);
  block[154] = 0;
  return block;
}

void append(std::vector<uint8_t>& archive, const std::vector<uint8_t>& more) {
  archive.insert(archive.end(), more.begin(), more.end());
  archive.resize((archive.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
}

TEST(Tar, WhatIsWrittenIsRead) {
  const std::vector<uint8_t> archive = three_files();
  EXPECT_EQ(read_all(archive), (std::vector<Found>{{"x.jpg", "of x.jpg"}, {kSplit, "of " + kSplit}, {kLong, "of " + kLong}}));
  uint64_t size = 2 * kTarBlock;
  for (const std::string& name : {std::string("x.jpg"), kSplit, kLong}) size += tar_member_bytes(name, 3 + name.size());
  EXPECT_EQ(archive.size(), size);
}

TEST(Tar, GnuNamesAndSizesAreRead) {
  std::vector<uint8_t> archive;
  append(archive, header("././@LongLink", "00000000425", 'L'));
  append(archive, vector_of(kLong + std::string(277 - kLong.size(), '\0')));
  append(archive, header("cut", std::string("\x80\0\0\0\0\0\0\0\0\0\0\5", 12), '0'));
  append(archive, vector_of("hello"));
  append(archive, header("folder/", "0", '5'));
  append(archive, header("link", "17", '2'));  // has no content, whatever it says
  append(archive, header("y", " 2 ", '\0'));
  append(archive, vector_of("hi"));
  end_tar(archive);
  EXPECT_EQ(read_all(archive), (std::vector<Found>{{kLong, "hello"}, {"y", "hi"}}));
}

TEST(Tar, EveryCutIsNoticed) {
  const std::vector<uint8_t> whole = three_files();
  for (size_t size = 0; size < whole.size() - kTarBlock; size += 128) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_CONTAINS(testing::message_of([&] { read_all(cut); }), "a.tar is truncated") << size;
  }
}

TEST(Tar, EveryFlippedBitOfAHeaderIsNoticed) {
  const std::vector<uint8_t> whole = three_files();
  constexpr size_t kBehindChecksum = 155;  // which the checksum leaves out, as its digits end before
  for (size_t i = 0; i < kTarBlock; ++i) {
    if (i == kBehindChecksum) continue;
    std::vector<uint8_t> changed = whole;
    changed[i] ^= 4;
    EXPECT_CONTAINS(testing::message_of([&] { read_all(changed); }), "a.tar is ") << i;
  }
}

TEST(Tar, SizesAndHeadersThatCannotBeAreRefused) {
  const auto message = [](const std::vector<uint8_t>& first, const std::string& content = "") {
    std::vector<uint8_t> archive;
    append(archive, first);
    append(archive, vector_of(content));
    end_tar(archive);
    return testing::message_of([&] { read_all(archive); });
  };
  EXPECT_CONTAINS(message(header("x", "77777777777", '0')), "has 8589934591 bytes");
  EXPECT_CONTAINS(message(header("x", std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 12), '0')), "no number");
  EXPECT_CONTAINS(message(header("x", "12x", '0')), "no number");
  EXPECT_CONTAINS(message(header("x", "0", 'S')), "sparse");
  EXPECT_CONTAINS(message(header("p", "5", 'x'), "9 a=b"), "a pax header in it is broken");
  EXPECT_CONTAINS(message(header("p", "6", 'x'), "6 abc\n"), "a pax header in it is broken");
  EXPECT_CONTAINS(message(header("p", "14", 'x'), "12 size=-1x\n"), "a pax header in it is broken");
  EXPECT_CONTAINS(message(header("p", "10", 'x'), "8 path=\n"), "belongs to no file");
  EXPECT_CONTAINS(testing::message_of([&] { read_all(std::vector<uint8_t>(2 * kTarBlock, 'x')); }), "is it a tar archive?");
}

}  // namespace
}  // namespace tessera
