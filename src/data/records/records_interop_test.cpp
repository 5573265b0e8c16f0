// Shards that TensorBoard's writer, webdataset and Python's tarfile wrote (tests/interop/make_records.py), and ours for them to
// read.
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "data/records/indexed_shards.h"
#include "data/records/tar_format.h"
#include "data/records/tar_writer.h"
#include "data/records/tfrecord_format.h"
#include "data/records/tfrecord_writer.h"
#include "support/cache_folder.h"
#include "support/fixtures.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

std::vector<uint8_t> bytes_in(const Json& text) {
  return testing::from_base64(text.get<std::string>());
}

std::vector<uint8_t> bytes_in(const Blob& blob) {
  return {blob.bytes.begin(), blob.bytes.end()};
}

std::unique_ptr<const ShardFormat> format_of(const std::string& file) {
  if (file.find(".tar") != std::string::npos) return std::make_unique<TarFormat>(member_names({}));
  return std::make_unique<TfRecordFormat>(FeatureNames{});
}

void expect_samples(const fs::path& folder, const std::string& file, const Json& expected) {
  SCOPED_TRACE(file);
  EXPECT_TRUE(format_of(file)->is_shard(file));
  const IndexedShards shards(open_file_store(folder.string()), {file}, format_of(file));
  ASSERT_EQ(shards.size(), std::ssize(expected));
  for (int64_t i = 0; i < shards.size(); ++i) {
    const Json& sample = expected[static_cast<size_t>(i)];
    EXPECT_TRUE(shards.id(i).ends_with(sample.at("id").get<std::string>())) << shards.id(i);
    const EncodedSample read = shards.read(i);
    EXPECT_EQ(bytes_in(read.image), bytes_in(sample.at("image")));
    EXPECT_EQ(bytes_in(read.labels), bytes_in(sample.at("labels")));
  }
}

TEST(RecordsInterop, ShardsOfOthersAreRead) {
  const testing::OwnCache cache;
  const testing::TempFolder folder;
  const Json fixture = testing::load_fixture("records.json");
  for (const auto& [name, content] : fixture.at("files").items()) {
    const std::vector<uint8_t> bytes = bytes_in(content);
    write_file(folder / name, std::span<const uint8_t>(bytes));
    expect_samples(folder.path(), name, fixture.at("samples"));
  }
}

// With TESSERA_INTEROP_OUT set, leaves its files there for tests/interop/check_records.py.
TEST(RecordsInterop, WeWriteWhatTheFixtureHolds) {
  const testing::OwnCache cache;
  const Json samples = testing::load_fixture("records.json").at("samples");
  TfRecordWriter records;
  TarWriter tar;
  for (const Json& sample : samples) {
    const EncodedSample encoded{sample.at("id"), own_bytes(bytes_in(sample.at("image"))), "",
                                own_bytes(bytes_in(sample.at("labels"))), ""};
    records.add(encoded);
    tar.add(encoded);
  }
  const testing::TempFolder own;
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  const fs::path folder = keep == nullptr ? own.path() : fs::path(keep) / "records";
  make_folders(folder);
  write_file(folder / "ours.tfrecord", std::span<const uint8_t>(records.finish()));
  write_file(folder / "ours.tar", std::span<const uint8_t>(tar.finish()));
  expect_samples(folder, "ours.tfrecord", samples);
  expect_samples(folder, "ours.tar", samples);
}

}  // namespace
}  // namespace tessera
