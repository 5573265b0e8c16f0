#include "data/datasets/open_shards.h"

#include <gtest/gtest.h>

#include <set>

#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "data/records/tar_writer.h"
#include "data/records/tfrecord_writer.h"
#include "data/sample.h"
#include "support/cache_folder.h"
#include "support/encoded_samples.h"
#include "support/messages.h"

namespace tessera {
namespace {

std::string grey_png(int value) {
  Image image(1, 1, 1);
  image.bytes()[0] = static_cast<uint8_t>(value);
  const std::vector<uint8_t> bytes = encode_png(image);
  return {bytes.begin(), bytes.end()};
}

// Samples of one grey pixel, as bright as their number, of class number % 2.
template <class Writer>
std::vector<uint8_t> shard_of(int first, int count) {
  Writer writer;
  for (int i = first; i < first + count; ++i)
    writer.add(testing::encoded_sample(fmt::format("s{}", i), grey_png(i), grey_png(i % 2)));
  return writer.finish();
}

class OpenShards : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::vector<uint8_t>& bytes) {
    make_folders((folder_ / name).parent_path());
    write_file(folder_ / name, std::span<const uint8_t>(bytes));
  }
  DataConfig config(SourceType type) {
    DataConfig config;
    config.type = type;
    config.path = folder_.path().string();
    config.classes = {"even", "odd"};
    config.channels = 1;
    return config;
  }
  static std::vector<std::string> ids(const DataConfig& config, Split split) {
    std::vector<std::string> found;
    const DatasetPtr data = make_dataset(config, split);
    for (int64_t i = 0; i < data->size(); ++i) {
      found.push_back(data->id(i));
      const Sample sample = data->get(i);
      const int number = std::stoi(sample.id.substr(1));
      EXPECT_EQ(sample.image.bytes()[0], number);
      EXPECT_EQ(sample.labels.value().at(0, 0), number % 2);
    }
    return found;
  }

  testing::OwnCache cache_;
  testing::TempFolder folder_;
};

using Ids = std::vector<std::string>;

TEST_F(OpenShards, InFoldersOfSplits) {
  write("train/0.tfrecord", shard_of<TfRecordWriter>(0, 2));
  write("train/1.tfrecord", shard_of<TfRecordWriter>(2, 1));
  write("test/0.tfrecord", shard_of<TfRecordWriter>(3, 1));
  DataConfig data = config(SourceType::kTfrecord);
  data.val_share = 0;
  EXPECT_EQ(ids(data, Split::kTrain), (Ids{"s0", "s1", "s2"}));
  EXPECT_EQ(ids(data, Split::kTest), Ids{"s3"});
}

TEST_F(OpenShards, CalledAfterTheirSplits) {
  write("train-00000-of-00002", shard_of<TfRecordWriter>(0, 1));
  write("train-00001-of-00002", shard_of<TfRecordWriter>(1, 1));
  write("validation-00000-of-00001", shard_of<TfRecordWriter>(2, 2));
  const DataConfig data = config(SourceType::kTfrecord);
  EXPECT_EQ(ids(data, Split::kTrain), (Ids{"s0", "s1"}));
  EXPECT_EQ(ids(data, Split::kVal), (Ids{"s2", "s3"}));
}

TEST_F(OpenShards, InOneFolderOfWhichValIsHeldOut) {
  write("a.tar", shard_of<TarWriter>(0, 6));
  write("b.tar", shard_of<TarWriter>(6, 4));
  const DataConfig data = config(SourceType::kTar);
  Ids all = ids(data, Split::kTrain);
  EXPECT_EQ(all.size(), 8U);
  const Ids val = ids(data, Split::kVal);
  all.insert(all.end(), val.begin(), val.end());
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 10U);
}

TEST_F(OpenShards, NamedOneByOne) {
  for (int i = 0; i < 4; ++i) write(fmt::format("shard-{:06}.tar", i), shard_of<TarWriter>(i, 1));
  DataConfig data = config(SourceType::kTar);
  data.path = (folder_ / "shard-{000001..000002}.tar").string();
  data.val.path = (folder_ / "shard-000003.tar").string();
  EXPECT_EQ(ids(data, Split::kTrain), (Ids{"s1", "s2"}));
  EXPECT_EQ(ids(data, Split::kVal), Ids{"s3"});
}

TEST_F(OpenShards, WhereThereAreNoneTheErrorSaysWhatTheyAreCalled) {
  make_folders(folder_ / "train");
  write("train/readme.txt", {'x'});
  EXPECT_CONTAINS(testing::message_of([&] { make_dataset(config(SourceType::kTar), Split::kTrain); }),
                  "expected files called NAME.tar");
  write("train/val-0.tar", shard_of<TarWriter>(0, 1));
  EXPECT_CONTAINS(testing::message_of([&] { make_dataset(config(SourceType::kTar), Split::kTrain); }),
                  "that are called after the train split");
}

TEST_F(OpenShards, ASampleWithoutAMaskIsBad) {
  TarWriter writer;
  writer.add(testing::encoded_sample("lonely", grey_png(7), ""));
  write("train/0.tar", writer.finish());
  DataConfig data = config(SourceType::kTar);
  data.val_share = 0;
  const DatasetPtr set = make_dataset(data, Split::kTrain);
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] { set->get(0); }), "has no mask among its files (png;");
}

}  // namespace
}  // namespace tessera
