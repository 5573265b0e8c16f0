#include "storage/file_tree.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/files.h"
#include "storage/zip_writer.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/zip_files.h"

namespace tessera {
namespace {


void write_zip(const fs::path& path, const std::vector<std::string>& names) {
  ZipWriter zip;
  for (const std::string& name : names) zip.add(name, testing::bytes_of("of " + name));
  write_file(path, std::span<const uint8_t>(zip.finish()));
}

std::string text_in(const fs::path& path) {
  const Blob content = read_file(path);
  return {content.bytes.begin(), content.bytes.end()};
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const TreeEntry& entry : entries_in(folder)) names.push_back(entry.name + (entry.folder ? "/" : ""));
  return names;
}

using Names = std::vector<std::string>;

TEST(FileTree, AnArchiveIsAFolder) {
  const testing::TempFolder folder;
  write_zip(folder / "a.zip", {"images/b-c/x.jpg", "images/b/y.jpg", "images/", "masks\\x.png", "list.txt", ".hidden/z.jpg",
                               "__MACOSX/images/._x.jpg"});
  const fs::path zip = folder / "a.zip";
  EXPECT_EQ(names_in(zip), (Names{"images/", "list.txt", "masks/"}));
  EXPECT_EQ(names_in(zip / "images"), (Names{"b/", "b-c/"}));
  EXPECT_TRUE(is_folder(zip));
  EXPECT_TRUE(is_folder(zip / "images" / ""));
  EXPECT_FALSE(is_folder(zip / "list.txt"));
  EXPECT_FALSE(is_folder(zip / "imag"));
  EXPECT_TRUE(is_plain_file(zip / "masks/x.png"));
  EXPECT_TRUE(is_plain_file(zip));
  EXPECT_FALSE(is_plain_file(zip / "images"));
  EXPECT_EQ(files_below(zip / "images"), (std::vector<fs::path>{zip / "images/b/y.jpg", zip / "images/b-c/x.jpg"}));
  EXPECT_EQ(text_in(zip / "images/b/y.jpg"), "of images/b/y.jpg");
  EXPECT_EQ(start_of_file(zip / "list.txt", 4), "of l");
  EXPECT_EQ(size_of_file(zip / "list.txt"), 11U);
  EXPECT_FALSE(size_of_file(zip / "absent").has_value());
  EXPECT_TRUE(same_folder(zip / "images", zip / "images" / ""));
  EXPECT_FALSE(same_folder(zip / "images", zip / "masks"));
  EXPECT_CONTAINS(testing::message_of([&] { read_file(zip / "absent"); }), "no such file");
  EXPECT_CONTAINS(testing::message_of([&] { read_file(zip / "list.txt", 5); }), "has 11 bytes, expected 5 at most");
  EXPECT_CONTAINS(testing::message_of([&] { files_below(zip / "absent"); }), "no such folder");
}

TEST(FileTree, OneFolderMoreThanWasThoughtDoesNotMatter) {
  const testing::TempFolder folder;
  write_zip(folder / "a.zip", {"ADE/images/x.jpg", "ADE/masks/x.png", "__MACOSX/x"});
  for (const char* path : {"a.zip", "a.zip/ADE"}) {
    EXPECT_EQ(names_in(folder / path), (Names{"images/", "masks/"})) << path;
    EXPECT_EQ(text_in(folder / path / "images/x.jpg"), "of ADE/images/x.jpg");
    EXPECT_EQ(files_below(folder / path),
              (std::vector<fs::path>{folder / path / "images/x.jpg", folder / path / "masks/x.png"}));
  }
}

TEST(FileTree, FoldersAreAsBefore) {
  const testing::TempFolder folder;
  make_folders(folder / "no.zip/b");
  write_file(folder / "no.zip/b/x.txt", "hello");
  EXPECT_EQ(names_in(folder / "no.zip"), Names{"b/"});
  EXPECT_FALSE(is_archived(folder / "no.zip/b/x.txt"));
  EXPECT_EQ(text_in(folder / "no.zip/b/x.txt"), "hello");
  EXPECT_EQ(start_of_file(folder / "no.zip/b/x.txt", 100), "hello");
  EXPECT_EQ(start_of_file(folder / "absent", 100), "");
  EXPECT_EQ(files_below(folder / "no.zip").size(), 1U);
  EXPECT_TRUE(entries_in(folder / "absent").empty());
}

TEST(FileTree, AnArchiveThatChangesIsOpenedAgain) {
  const testing::TempFolder folder;
  write_zip(folder / "a.zip", {"x", "y"});
  EXPECT_EQ(names_in(folder / "a.zip"), (Names{"x", "y"}));
  write_zip(folder / "a.zip", {"x", "y", "z"});
  EXPECT_EQ(names_in(folder / "a.zip"), (Names{"x", "y", "z"}));
}

TEST(FileTree, WhatIsDamagedIsNamed) {
  const testing::TempFolder folder;
  write_file(folder / "a.zip", "no archive");
  EXPECT_CONTAINS(testing::message_of([&] { entries_in(folder / "a.zip"); }), "a.zip");
  ZipWriter zip;
  zip.add("x.jpg", testing::bytes_of("content"));
  std::vector<uint8_t> bytes = zip.finish();
  bytes[35] ^= 1;  // the first of the content
  write_file(folder / "b.zip", std::span<const uint8_t>(bytes));
  EXPECT_CONTAINS(testing::message_of([&] { read_file(folder / "b.zip/x.jpg"); }), "checksum of entry 'x.jpg' does not match");
  const std::vector<uint8_t> zeros(1 << 20);
  const Blob bomb = testing::deflated_zip("x.jpg", zeros, 1 << 30);
  write_file(folder / "c.zip", bomb.bytes);
  EXPECT_CONTAINS(testing::message_of([&] { entries_in(folder / "c.zip"); }), "claims 1073741824 bytes");
}

// What may be read over and over is not counted as one that unpacks to ever more.
TEST(FileTree, AnEntryIsReadAnyNumberOfTimesByManyThreads) {
  const testing::TempFolder folder;
  const std::vector<uint8_t> zeros(4 << 20);
  write_file(folder / "a.zip", testing::deflated_zip("x", zeros, 4 << 20).bytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(read_file(folder / "a.zip/x").size(), zeros.size());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
