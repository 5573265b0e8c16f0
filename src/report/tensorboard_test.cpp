#include "report/tensorboard.h"

#include <cstdlib>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "report/events.pb.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

// A grey 1 x 1 PNG.
const std::vector<uint8_t> kPng{0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0x00, 0x00, 0x00, 0x0D, 0x49, 0x48,
                                0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
                                0x00, 0x3A, 0x7E, 0x9B, 0x55, 0x00, 0x00, 0x00, 0x0A, 0x49, 0x44, 0x41, 0x54, 0x78,
                                0xDA, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81, 0xDA, 0x45, 0x08, 0x3B, 0x00,
                                0x00, 0x00, 0x00, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82};

template <class Integer>
Integer little_endian(std::string_view bytes) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof(Integer); ++i) value |= static_cast<Integer>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  return value;
}

// Reads the frames back, with every checksum looked at.
std::vector<events::Event> read_events(const fs::path& path) {
  const std::string content = read_text(path);
  std::string_view rest = content;
  std::vector<events::Event> found;
  while (rest.size() >= 16) {
    const auto length = little_endian<uint64_t>(rest);
    EXPECT_EQ(little_endian<uint32_t>(rest.substr(8)), mask_crc32c(crc32c(rest.substr(0, 8))));
    const std::string_view data = rest.substr(12, length);
    EXPECT_EQ(little_endian<uint32_t>(rest.substr(12 + length)), mask_crc32c(crc32c(data)));
    EXPECT_TRUE(found.emplace_back().ParseFromArray(data.data(), static_cast<int>(data.size())));
    rest.remove_prefix(16 + length);
  }
  EXPECT_TRUE(rest.empty()) << "bytes after the last frame";
  return found;
}

TEST(TensorBoardWriter, FramesAndContentsComeBack) {
  const testing::TempFolder folder;
  TensorBoardWriter writer(folder / "tb");
  writer.scalar("train/loss", 0.5, 7);
  writer.image("val/worst", kPng, 1, 1, 8);
  writer.text("config", "**bold**", 0);
  writer.flush();

  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_GT(events[0].wall_time(), 1.6e9);
  EXPECT_EQ(events[1].step(), 7);
  EXPECT_EQ(events[1].summary().value(0).tag(), "train/loss");
  EXPECT_EQ(events[1].summary().value(0).simple_value(), 0.5F);
  const auto& picture = events[2].summary().value(0).image();
  EXPECT_EQ(picture.height(), 1);
  EXPECT_EQ(std::vector<uint8_t>(picture.encoded_image_string().begin(), picture.encoded_image_string().end()), kPng);
  EXPECT_EQ(events[3].summary().value(0).metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(events[3].summary().value(0).tensor().string_val(0), "**bold**");
}

TEST(TensorBoardWriter, NamesItsFileAsTensorBoardExpects) {
  const testing::TempFolder folder;
  const TensorBoardWriter first(folder.path());
  const TensorBoardWriter second(folder.path());
  EXPECT_EQ(first.path().filename().string().rfind("events.out.tfevents.", 0), 0U);
  EXPECT_NE(first.path(), second.path());  // also within one second of one process
}

TEST(TensorBoardWriter, SaysWhichFolderCannotBeMade) {
  const testing::TempFolder folder;
  write_file(folder / "file", std::string_view("in the way"));
  EXPECT_THROW(TensorBoardWriter(folder / "file" / "tb"), Error);
}

// With TESSERA_INTEROP_OUT set, leaves its files there for tests/interop/check_tensorboard.py, which reads them with
// TensorBoard itself.
TEST(TensorBoardWriter, WritesARunThatWasResumed) {
  const testing::TempFolder temporary;
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  const fs::path folder = (keep != nullptr ? fs::path(keep) : temporary.path()) / "tensorboard";
  fs::remove_all(folder);
  {
    TensorBoardWriter killed(folder);
    for (int step = 0; step < 10; ++step) killed.scalar("train/loss", 100 + step, step);
  }
  TensorBoardWriter resumed(folder, 5);
  for (int step = 5; step < 12; ++step) resumed.scalar("train/loss", 1.0 / (1 + step), step);
  resumed.image("val/worst", kPng, 1, 1, 11);
  resumed.text("config", "`lr: 0.01`", 0);
  resumed.flush();
  const auto events = read_events(resumed.path());
  ASSERT_EQ(events.size(), 11U);
  EXPECT_EQ(events[1].session_log().status(), events::SessionLog::START);
  EXPECT_EQ(events[1].step(), 5);
}

}  // namespace
}  // namespace tessera
