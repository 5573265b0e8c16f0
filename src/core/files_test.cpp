#include "core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "core/error.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

TEST(Files, WriteReplacesWholeFileAndLeavesNoTemporary) {
  const testing::TempFolder folder;
  write_file(folder / "a.txt", std::string_view("first"));
  write_file(folder / "a.txt", std::string_view("second"));
  EXPECT_EQ(read_text(folder / "a.txt"), "second");
  EXPECT_EQ(list_files(folder.path()).size(), 1U);
}

TEST(Files, LinksStayAndWhatTheyLeadToIsWritten) {
  const testing::TempFolder folder;
  write_file(folder / "target", std::string_view("old"));
  fs::create_symlink("target", folder / "link");
  fs::create_symlink(folder / "link", folder / "second");
  fs::create_symlink("later", folder / "dangling");
  write_file(folder / "second", std::string_view("new"));
  write_file(folder / "dangling", std::string_view("made"));
  EXPECT_EQ(read_text(folder / "target"), "new");
  EXPECT_EQ(read_text(folder / "later"), "made");
  for (const char* name : {"link", "second", "dangling"}) EXPECT_TRUE(fs::is_symlink(folder / name)) << name;
}

TEST(Files, PipesAreWrittenTo) {
  const testing::TempFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(is_stream(pipe));
  EXPECT_FALSE(is_stream(folder.path()));
  std::thread reader([&] { EXPECT_EQ(read_text_or_pipe(pipe), "through"); });
  write_file(pipe, std::string_view("through"));
  reader.join();
  EXPECT_TRUE(is_stream(pipe));
}

TEST(Files, APipeOfAnotherUserWhereOthersMayWriteIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's pipe";
  testing::TempFolder folder;
  fs::permissions(folder.path(), fs::perms::all | fs::perms::sticky_bit);
  const fs::path pipe = folder / "result.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  ASSERT_EQ(::chown(pipe.c_str(), 65534, 65534), 0);
  EXPECT_CONTAINS(testing::message_of([&] { write_file(pipe, std::string_view("x")); }), "it is a pipe of another user");
}

TEST(Files, AFileOfMoreBytesThanAskedForIsRefusedBeforeMemoryIsTaken) {
  testing::TempFolder folder;
  write_file(folder / "sparse", std::string_view("x"));
  fs::resize_file(folder / "sparse", uint64_t{100} << 30);
  EXPECT_CONTAINS(testing::message_of([&] { read_bytes(folder / "sparse", 1000); }),
                  "it has 107374182400 bytes, expected 1000");
}

TEST(Files, MissingFileIsNamedWithTheReason) {
  EXPECT_EQ(testing::message_of([] { read_bytes("/nonexistent/x.png"); }),
            "cannot read /nonexistent/x.png: No such file or directory");
  EXPECT_THROW(read_bytes("/"), Error);
}

TEST(Files, WhatMayHaveNoEndIsRefusedByName) {
  const testing::TempFolder folder;
  fs::create_symlink("/dev/zero", folder / "zeros.png");
  ASSERT_EQ(::mkfifo((folder / "pipe.png").c_str(), 0600), 0);
  const auto refused = [&](const fs::path& path, const char* why) {
    for (const auto& read : {std::function([&] { read_bytes(path); }), std::function([&] { read_text(path); }),
                             std::function([&] { read_lines(path); })}) {
      EXPECT_EQ(testing::message_of(read), fmt::format("cannot read {}: it is a {}, a file was expected", path.string(), why));
    }
  };
  refused(folder / "zeros.png", "device");
  refused(folder / "pipe.png", "pipe");
  refused(folder.path(), "folder");
  EXPECT_THROW(read_text_or_pipe(folder / "zeros.png"), Error);
}

TEST(Files, APipeIsReadToItsEndButNotForEver) {
  const testing::TempFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string large(1 << 20, 'x');  // more than a pipe holds at a time
  std::thread writer([&] { write_file(pipe, std::string_view(large)); });
  EXPECT_EQ(read_text_or_pipe(pipe), large);
  writer.join();

  const auto before = ::signal(SIGPIPE, SIG_IGN);  // of the writer, when the reader has left
  std::thread endless([&] {
    std::ofstream out(pipe, std::ios::binary);
    while (out.write(large.data(), static_cast<std::streamsize>(large.size()))) {
    }
  });
  EXPECT_CONTAINS(testing::message_of([&] { read_text_or_pipe(pipe); }), "pipe: more than 16 MiB have come through this pipe");
  endless.join();
  ::signal(SIGPIPE, before);
}

TEST(Files, ListSurvivesALoopOfLinksAndIsSorted) {
  const testing::TempFolder folder;
  fs::create_directories(folder / "b/c");
  write_file(folder / "b/2", std::string_view(""));
  write_file(folder / "b/c/1", std::string_view(""));
  fs::create_directory_symlink(folder.path(), folder / "b/c/loop");
  const auto files = list_files(folder.path());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0], folder / "b/2");
  EXPECT_EQ(files[1], folder / "b/c/1");
}

TEST(Files, ListLeavesOutHiddenFilesAndFolders) {
  const testing::TempFolder folder;
  fs::create_directories(folder / ".hidden/.inner");
  for (const char* name : {".hidden/x.jpg", ".hidden/a.jpg", ".hidden/._a.jpg", ".hidden/.inner/b.jpg", "._c.jpg", "c.jpg"}) {
    write_file(folder / name, std::string_view(""));
  }
  EXPECT_EQ(list_files(folder.path()), (std::vector<fs::path>{folder / "c.jpg"}));
  // Asked for by name, a hidden folder is read like any other.
  EXPECT_EQ(list_files(folder / ".hidden"), (std::vector<fs::path>{folder / ".hidden/a.jpg", folder / ".hidden/x.jpg"}));
}

TEST(Files, LinesSkipCommentsBlankLinesAndCarriageReturns) {
  const testing::TempFolder folder;
  write_file(folder / "l", std::string_view("a\r\n# no\n\nb c\nlast"));
  EXPECT_EQ(read_lines(folder / "l"), (std::vector<std::string>{"a", "b c", "last"}));
}

TEST(Files, LinesMayBeginWithAByteOrderMarkOfUtf8Only) {
  const testing::TempFolder folder;
  const auto lines = [&](std::string_view text) {
    write_file(folder / "l", text);
    return read_lines(folder / "l");
  };
  EXPECT_EQ(lines("\xef\xbb\xbf"
                  "a\r\nb\n"),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(lines("\xef\xbb\xbf# no\nb"), (std::vector<std::string>{"b"}));
  EXPECT_TRUE(lines("\xef\xbb\xbf").empty());
  for (const std::string_view text : {std::string_view("\xff\xfe"
                                                       "a\0",
                                                       4),
                                      std::string_view("\xfe\xff\0a", 4)}) {
    EXPECT_CONTAINS(testing::message_of([&] { lines(text); }), "l is UTF-16 text: expected UTF-8");
  }
}

TEST(Files, UnwritableFolderSaysWhy) {
  const testing::TempFolder folder;
  EXPECT_EQ(why_not_writable(folder / "new/sub"), "");
  write_file(folder / "file", std::string_view("x"));
  EXPECT_NE(why_not_writable(folder / "file"), "");
  EXPECT_NE(why_not_writable("s3://bucket/runs").find("s3://bucket/runs is a URL"), std::string::npos);
  EXPECT_FALSE(fs::exists("s3:"));
}

}  // namespace
}  // namespace tessera
