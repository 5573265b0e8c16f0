#include "data/convert/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "data/datasets/dataset_factory.h"
#include "data/datasets/open_records.h"
#include "storage/content_hash.h"
#include "support/cache_folder.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/image_files.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;

constexpr int kSamples = 23;

// Pairs whose pictures and masks differ, of a folder that also names its classes' values: 0, 1 and 9, which is ignored.
DataConfig made_pairs(const TempFolder& root) {
  for (int i = 0; i < kSamples; ++i) {
    const Size size{5 + i % 3, 7 + i};
    testing::write_image(root / fmt::format("images/s{:02}.png", i), size, static_cast<uint8_t>(10 * i));
    testing::write_mask(root / fmt::format("masks/s{:02}.png", i), size, i % 4 == 0 ? 9 : 1);
  }
  DataConfig config = testing::pairs_at(root.path());
  config.labels.ignore = {9};
  return config;
}

std::vector<OpenSplit> splits_of(const DataConfig& config) {
  return {{Split::kTrain, make_dataset(config, Split::kTrain)}, {Split::kVal, make_dataset(config, Split::kVal)}};
}

std::vector<ConvertedSplit> run(
    const DataConfig& config, const fs::path& to, const OutputOptions& output, int workers = 2,
    const std::function<void(int64_t)>& on_sample = [](int64_t) {}) {
  return convert(config, splits_of(config), to, {output, workers}, on_sample);
}

OutputOptions small(const std::string& format, const std::string& compression = "") {
  return {.format = format, .compression = compression, .hashes = {}, .shard_bytes = 1200};
}

// What a config must say to read what was written.
DataConfig read_with(const std::string& format, const fs::path& from) {
  DataConfig config;
  config.type = format == "mds" ? SourceType::kMds : format == "tar" ? SourceType::kTar : SourceType::kTfrecord;
  config.path = from;
  return config;
}

void expect_same_samples(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(a.classes().names, b.classes().names);
  EXPECT_EQ(a.classes().palette, b.classes().palette);
  for (int64_t i = 0; i < a.size(); ++i) {
    const Sample one = a.get(i), other = b.get(i);
    EXPECT_EQ(one.id, other.id);
    EXPECT_EQ(one.image.bytes(), other.image.bytes()) << i;
    EXPECT_EQ(one.labels->labels, other.labels->labels) << i;
  }
}

std::map<std::string, std::vector<uint8_t>> files_in(const fs::path& folder) {
  std::map<std::string, std::vector<uint8_t>> files;
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (entry->is_regular_file()) files[entry->path().lexically_relative(folder).string()] = read_bytes(entry->path());
  }
  return files;
}

TEST(Convert, ShardsAreReadAsTheSamplesThatWentIn) {
  const testing::OwnCache cache;
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  for (const auto& [format, compression] : std::vector<std::pair<std::string, std::string>>{
           {"mds", ""}, {"mds", "zstd:3"}, {"mds", "br"}, {"tar", ""}, {"tar", "gz"}, {"tfrecord", ""}, {"tfrecord", "gz:1"}}) {
    SCOPED_TRACE(format + " " + compression);
    const fs::path folder = to / (format + compression);
    const std::vector<ConvertedSplit> converted = run(config, folder, small(format, compression));
    EXPECT_GT(converted.at(0).shards, 3);
    const DataConfig read = read_with(format, folder);
    for (const Split split : {Split::kTrain, Split::kVal})
      expect_same_samples(*make_dataset(config, split), *make_dataset(read, split));
    EXPECT_EQ(record_keys(folder).at(0), "data.type=" + format);
  }
}

TEST(Convert, AFolderOfFilesIsTheFilesThatWentIn) {
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  run(config, to / "f", small("folder"));
  DataConfig read = config;
  read.path = to / "f";
  for (const Split split : {Split::kTrain, Split::kVal})
    expect_same_samples(*make_dataset(config, split), *make_dataset(read, split));
}

TEST(Convert, NamesOfAnyBytesSurvive) {
  const testing::OwnCache cache;
  const TempFolder from, to;
  const std::string deep = std::string(120, 'd') + "/" + std::string(120, 'n');
  for (const std::string& name : {std::string("line\nend"), std::string("tab\there"), std::string("m\xFCnchen"), deep}) {
    testing::write_image(from / ("images/" + name + ".png"), {5, 7});
    testing::write_mask(from / ("masks/" + name + ".png"), {5, 7}, 1);
  }
  DataConfig config = testing::pairs_at(from.path());
  config.val_share = 0;
  const DatasetPtr source = make_dataset(config, Split::kTrain);
  for (const std::string format : {"mds", "tar", "tfrecord", "folder"}) {
    SCOPED_TRACE(format);
    convert(config, {{Split::kTrain, source}}, to / format, {small(format), 2}, [](int64_t) {});
    DataConfig read = format == "folder" ? config : read_with(format, to / format);
    read.path = to / format;
    read.val_share = 0;
    expect_same_samples(*source, *make_dataset(read, Split::kTrain));
  }
}

TEST(Convert, NamesThatAFolderWouldHideAreRefusedBeforeAnythingIsWritten) {
  const TempFolder to;
  const auto hidden = std::make_shared<testing::FixedDataset>(std::vector{testing::row_sample("sub/.a", {1, 2}, {0, 1})});
  const std::string message = message_of([&] {
    convert({}, {{Split::kTrain, hidden}}, to / "f", {small("folder"), 2}, [](int64_t) {});
  });
  EXPECT_CONTAINS(message, "a sample of train is called 'sub/.a'");
  EXPECT_FALSE(fs::exists(to / "f/train"));
}

TEST(Convert, DrawnSamplesAreStoredAsPng) {
  const testing::OwnCache cache;
  const TempFolder to;
  DataConfig config;
  config.type = SourceType::kSynthetic;
  config.synthetic.kind = SyntheticKind::kShapes;
  config.synthetic.size = {32, 48};
  config.train.count = 5;
  config.val.count = 2;
  run(config, to / "s", {.format = "mds"});
  const DatasetPtr read = make_dataset(read_with("mds", to / "s"), Split::kTrain), made = make_dataset(config, Split::kTrain);
  expect_same_samples(*made, *read);
}

// Stopped after any number of samples, on any number of threads, and with a file that was broken meanwhile, it ends with the
// bytes of a conversion that was never stopped.
TEST(Convert, GoesOnWhereItWasStopped) {
  const testing::OwnCache cache;
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  for (const std::string format : {"mds", "tar", "folder"}) {
    SCOPED_TRACE(format);
    run(config, to / ("whole" + format), small(format), 1);
    const auto whole = files_in(to / ("whole" + format));
    for (const int64_t stop : {1, 9, 20}) {
      const fs::path folder = to / (format + std::to_string(stop));
      EXPECT_THROW(run(config, folder, small(format), 3, [&](int64_t done) { TSR_CHECK(done < stop, "stopped"); }), Error);
      EXPECT_TRUE(fs::exists(folder / kJournalName));
      if (stop == 20) {
        for (const fs::path& file : list_files(folder)) {
          fs::resize_file(file, fs::file_size(file) - 1);
          break;
        }
      }
      const std::vector<ConvertedSplit> converted = run(config, folder, small(format), 2);
      if (stop == 20) {
        EXPECT_GT(converted[0].kept, 0);
      }
      EXPECT_EQ(files_in(folder), whole) << stop;
    }
  }
}

// A part of the samples looks like a whole data set: of shards and folders of files what is there would be trained on.
TEST(Convert, WhatIsUnfinishedIsNoDataSet) {
  const testing::OwnCache cache;
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  for (const std::string format : {"mds", "tar", "tfrecord", "folder"}) {
    SCOPED_TRACE(format);
    const fs::path folder = to / format;
    DataConfig made = read_with(format, folder);
    if (format == "folder") {
      made = testing::pairs_at(folder);
      made.labels.ignore = {9};
    }
    EXPECT_THROW(run(config, folder, small(format), 1, [](int64_t done) { TSR_CHECK(done < 15, "stopped"); }), Error);
    EXPECT_CONTAINS(message_of([&] { make_dataset(made, Split::kTrain); }), "has not come to its end");
    DataConfig own = made;
    own.path = "";
    own.train.path = (folder / "train").string();
    EXPECT_CONTAINS(message_of([&] { make_dataset(own, Split::kTrain); }), "has not come to its end");
    run(config, folder, small(format));
    EXPECT_EQ(make_dataset(made, Split::kTrain)->size(), make_dataset(config, Split::kTrain)->size());
  }
}

TEST(Convert, OtherDataOrOptionsDoNotGoOn) {
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  const auto stopped = [](int64_t) { fail("stopped"); };
  EXPECT_THROW(run(config, to / "a", small("mds"), 1, stopped), Error);
  EXPECT_CONTAINS(message_of([&] { run(config, to / "a", small("tar")); }), "unfinished conversion of other data");
  DataConfig other = config;
  other.val_share = 0.5;
  EXPECT_CONTAINS(message_of([&] { run(other, to / "a", small("mds")); }), "unfinished conversion of other data");
  testing::write_image(from / "images/s03.png", {6, 10}, 1);
  EXPECT_CONTAINS(message_of([&] { run(config, to / "a", small("mds")); }), "unfinished conversion of other data");
}

TEST(Convert, NothingIsOverwritten) {
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  write_file(to / "mine", std::string_view("text"));
  EXPECT_CONTAINS(message_of([&] { run(config, to.path(), small("mds")); }), "is not empty");
  run(config, to / "new", small("mds"));
  const auto files = files_in(to.path());
  EXPECT_TRUE(run(config, to / "new", small("mds")).empty());
  EXPECT_CONTAINS(message_of([&] { run(config, to / "new", small("mds", "gz")); }), "is not empty");
  EXPECT_EQ(files_in(to.path()), files);
  EXPECT_EQ(files_in(to.path()).count("new/" + std::string(kJournalName)), 0U);
}

TEST(Convert, ASampleThatCannotBeReadIsNamed) {
  const TempFolder from, to;
  const DataConfig config = made_pairs(from);
  const auto data = splits_of(config);
  fs::remove(from / "images/s07.png");
  EXPECT_CONTAINS(message_of([&] { convert(config, data, to / "x", {small("mds"), 2}, [](int64_t) {}); }), "s07");
}

// With TESSERA_INTEROP_OUT set, leaves its files there for tests/interop/check_mds.py, which reads them with
// mosaicml-streaming.
TEST(ConvertInterop, MdsOfAllCompressionsAndHashes) {
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  const TempFolder from, to;
  const fs::path out = keep != nullptr ? fs::path(keep) / "mds" : to.path();
  const DataConfig config = made_pairs(from);
  for (const char* compression : {"", "br:5", "bz2:1", "gz", "gz:1", "snappy", "zstd", "zstd:19"}) {
    OutputOptions options = small("mds", compression);
    options.hashes = hash_names();
    std::string name = compression[0] == '\0' ? "plain" : compression;
    std::replace(name.begin(), name.end(), ':', '-');
    run(config, out / name, options);
    expect_same_samples(*make_dataset(config, Split::kTrain), *make_dataset(read_with("mds", out / name), Split::kTrain));
  }
  if (keep != nullptr) fs::copy(from.path(), out / "source", fs::copy_options::recursive);
}

TEST(Convert, OptionsThatCannotBeAreRefused) {
  const auto refused = [](const OutputOptions& options) { return message_of<UsageError>([&] { check_output(options); }); };
  EXPECT_CONTAINS(refused({.format = "mdx"}), "did you mean 'mds'");
  EXPECT_CONTAINS(refused({.format = "tar", .compression = "zstd"}), "know gz alone");
  EXPECT_CONTAINS(refused({.format = "mds", .hashes = {"sh256"}}), "did you mean 'sha256'");
  EXPECT_CONTAINS(refused({.format = "tar", .hashes = {"sha1"}}), "is for --format mds");
  EXPECT_CONTAINS(refused({.format = "folder", .compression = "gz"}), "is for shards");
  EXPECT_CONTAINS(refused({.format = "mds", .shard_bytes = uint64_t{1} << 32}), "below 4 GB");
}

}  // namespace
}  // namespace tessera
