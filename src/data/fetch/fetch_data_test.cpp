#include "data/fetch/fetch_data.h"

#include <gtest/gtest.h>

#include "core/files.h"
#include "data/decode/mask.h"
#include "data/decode/png_writer.h"
#include "storage/content_hash.h"
#include "storage/zip_writer.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Archives that a person put in place, so that nothing is asked of a network. (Downloads: tests/regression/data_fetch.py.)
struct TwoArchives {
  testing::TempFolder folder;
  PublicData data{.name = "set",
                  .title = "",
                  .folder = "set",
                  .licence = "",
                  .licence_url = "",
                  .files = {},
                  .has = {"images/a", "masks/a"}};
  fs::path root = folder / "set";

  TwoArchives() {
    add("one.zip", "images/a", "image");
    add("two.zip", "inner/masks/a", "mask");
    data.files[1].strip = "inner";
  }
  void add(const std::string& name, const std::string& entry, const std::string& content) {
    ZipWriter zip;
    zip.add(entry, bytes_of(content));
    const std::vector<uint8_t> file = zip.finish();
    make_folders(folder / "set.fetch");
    write_file(folder / "set.fetch" / name, file);
    data.files.push_back({"http://127.0.0.1:1/" + name, static_cast<int64_t>(file.size()), "md5", content_hash("md5", file)});
  }
};

TEST(FetchData, ArchivesPutThereByHandAreCheckedAndUnpackedAndStay) {
  const TwoArchives set;
  fetch_data(set.data, set.root);
  EXPECT_EQ(read_text(set.root / "images/a"), "image");
  EXPECT_EQ(read_text(set.root / "masks/a"), "mask");
  EXPECT_EQ(list_files(set.root).size(), 2U);
  EXPECT_EQ(list_files(set.folder / "set.fetch").size(), 2U);
  EXPECT_FALSE(fs::exists(set.folder / "set.fetch.lock"));
  fetch_data(set.data, set.root);  // there is nothing to do
}

TEST(FetchData, AnotherFileInItsPlaceIsRefused) {
  const TwoArchives set;
  write_file(set.folder / "set.fetch/two.zip", "no archive");
  EXPECT_CONTAINS(message_of([&] { fetch_data(set.data, set.root); }), "it has 10 bytes, expected");
  std::vector<uint8_t> same_size = read_bytes(set.folder / "set.fetch/one.zip");
  same_size[40] ^= 1;
  write_file(set.folder / "set.fetch/one.zip", same_size);
  fs::remove_all(set.folder / "set.fetch/unpacked-0");
  EXPECT_CONTAINS(message_of([&] { fetch_data(set.data, set.root); }), "its md5 is");
  EXPECT_FALSE(fs::exists(set.root));
}

TEST(FetchData, WithoutANetworkItSaysWhatToPutWhere) {
  const TwoArchives set;
  fs::remove(set.folder / "set.fetch/two.zip");
  const std::string message = message_of([&] { fetch_data(set.data, set.root); });
  EXPECT_CONTAINS(message, "put it as two.zip into " + (set.folder / "set.fetch").string());
}

// Every state that a killed process may leave.
TEST(FetchData, GoesOnWhereAnEarlierProcessWasKilled) {
  {
    const TwoArchives set;  // in the middle of unpacking
    make_folders(set.folder / "set.fetch/unpacking-0/images");
    write_file(set.folder / "set.fetch/unpacking-0/images/a", "ima");
    fetch_data(set.data, set.root);
    EXPECT_EQ(read_text(set.root / "images/a"), "image");
  }
  {
    const TwoArchives set;  // in the middle of putting together: the first part was moved, the second not
    make_folders(set.folder / "set.fetch/unpacked-0");
    make_folders(set.folder / "set.fetch/unpacked-1/masks");
    make_folders(set.folder / "set.fetch/whole/images");
    write_file(set.folder / "set.fetch/whole/images/a", "image");
    write_file(set.folder / "set.fetch/unpacked-1/masks/a", "mask");
    fetch_data(set.data, set.root);
    EXPECT_EQ(read_text(set.root / "images/a") + read_text(set.root / "masks/a"), "imagemask");
  }
  {
    const TwoArchives set;  // after the last rename
    fetch_data(set.data, set.root);
    make_folders(set.folder / "set.fetch/unpacked-1");
    fetch_data(set.data, set.root);
    EXPECT_FALSE(fs::exists(set.folder / "set.fetch/unpacked-1"));
  }
}

TEST(FetchData, AFolderThatIsSomethingElseIsLeftAlone) {
  const TwoArchives set;
  make_folders(set.root);
  write_file(set.root / "mine", "mine");
  EXPECT_CONTAINS(message_of<UsageError>([&] { fetch_data(set.data, set.root); }), "expected images/a, masks/a in it");
  EXPECT_EQ(read_text(set.root / "mine"), "mine");
}

TEST(FetchData, MasksOfSingleObjectsAreMerged) {
  const testing::TempFolder folder;
  PublicData data{.name = "n",
                  .title = "",
                  .folder = "n",
                  .licence = "",
                  .licence_url = "",
                  .files = {{"http://127.0.0.1:1/n.zip"}},
                  .has = {"images", "masks"}};
  data.arrangement = Arrangement::kMergeObjects;
  Image left(2, 3, 1), right(2, 3, 1);
  left.bytes()[0] = 255;
  right.bytes()[5] = 1;
  ZipWriter zip;
  zip.add("top/id/images/id.png", encode_png(Image(2, 3, 3)));
  zip.add("top/id/masks/1.png", encode_png(left));
  zip.add("top/id/masks/2.png", encode_png(right));
  make_folders(folder / "n.fetch");
  write_file(folder / "n.fetch/n.zip", zip.finish());
  make_folders(folder / "n.fetch/arranging/images");  // of a process that was killed
  fetch_data(data, folder / "n");
  EXPECT_EQ(decode_mask(read_bytes(folder / "n/masks/id.png")).values, (std::vector<int32_t>{255, 0, 0, 0, 0, 255}));
  EXPECT_TRUE(fs::exists(folder / "n/images/id.png"));
}

TEST(FetchIfAsked, OnlyWhereItIsAskedAndNothingIsThere) {
  const testing::TempFolder folder;
  DataConfig config;
  config.path = (folder / "nothing").string();
  fetch_if_asked(config);
  config.fetch = "false";
  fetch_if_asked(config);
  config.fetch = "true";
  EXPECT_CONTAINS(message_of<UsageError>([&] { fetch_if_asked(config); }), "no such folder: " + config.path);
  config.fetch = "ade21k";
  EXPECT_CONTAINS(message_of<UsageError>([&] { fetch_if_asked(config); }), "did you mean 'ade20k'");
  make_folders(config.path);
  write_file(config.path + "/a", "a");
  fetch_if_asked(config);
  EXPECT_CONTAINS(fetch_hint("/d/VOCdevkit/VOC2012"), "fetch voc2012 --to /d`");
  EXPECT_EQ(fetch_hint("/d/mine"), "");
}

}  // namespace
}  // namespace tessera
