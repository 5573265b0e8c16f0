#include "data/records/tfrecord_format.h"

#include <gtest/gtest.h>

#include "core/tfrecord_frame.h"
#include "data/records/tfrecord_writer.h"
#include "data/sample.h"
#include "data/tf_example.pb.h"
#include "support/encoded_samples.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::encoded_sample;
using testing::text_of;

const TfRecordFormat kFormat{FeatureNames{}};

Blob written(const std::vector<EncodedSample>& samples) {
  TfRecordWriter writer;
  for (const EncodedSample& sample : samples) {
    const uint64_t most = writer.bytes_with(sample);
    writer.add(sample);
    EXPECT_LE(writer.bytes_with(encoded_sample("", "", "")), most + 200);
  }
  return own_bytes(writer.finish());
}

Blob record_of(const records::Example& example) {
  std::string file;
  put_tfrecord(file, example.SerializeAsString());
  return own_bytes({file.begin(), file.end()});
}

EncodedSample read(const Blob& file, size_t record = 0) {
  return kFormat.read(file, kFormat.places(file.bytes, "f").at(record), "the id", "f, sample 0");
}

TEST(TfRecordFormatTest, WhatIsWrittenIsRead) {
  const Blob file = written({encoded_sample("a/b", "image 0", "mask 0"), encoded_sample("c", "image 1", "")});
  const std::vector<RecordPlace> places = kFormat.places(file.bytes, "f");
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].id, "a/b");
  EXPECT_EQ(places[1].id, "c");
  EXPECT_EQ(text_of(read(file, 0).image), "image 0");
  EXPECT_EQ(text_of(read(file, 0).labels), "mask 0");
  EXPECT_EQ(read(file, 0).image_name, "f, sample 0, image");
  EXPECT_EQ(text_of(read(file, 1).image), "image 1");
  EXPECT_EQ(read(file, 1).labels.size(), 0U);
  EXPECT_CONTAINS(read(file, 1).labels_name, "has no feature labels or");
}

TEST(TfRecordFormatTest, TheSameSamplesGiveTheSameFile) {
  const std::vector<EncodedSample> samples{encoded_sample("a", "x", "y"), encoded_sample("b", "z", "w")};
  const Blob one = written(samples), two = written(samples);
  EXPECT_TRUE(std::equal(one.bytes.begin(), one.bytes.end(), two.bytes.begin(), two.bytes.end()));
}

TEST(TfRecordFormatTest, ReadsTheFeaturesOfDeepLabAndTheOnesThatTheConfigNames) {
  records::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image/encoded"].mutable_bytes_list()->add_value("picture");
  features["image/segmentation/class/encoded"].mutable_bytes_list()->add_value("classes");
  features["image/filename"].mutable_bytes_list()->add_value("2007_000032");
  features["image/height"].mutable_int64_list()->add_value(366);
  features["mine"].mutable_bytes_list()->add_value("my picture");
  const Blob file = record_of(example);
  EXPECT_EQ(kFormat.places(file.bytes, "f")[0].id, "2007_000032");
  EXPECT_EQ(text_of(read(file).image), "picture");
  EXPECT_EQ(text_of(read(file).labels), "classes");
  RecordsConfig config;
  config.image = "mine";
  const TfRecordFormat own(feature_names(config));
  EXPECT_EQ(text_of(own.read(file, own.places(file.bytes, "f")[0], "x", "f").image), "my picture");
}

TEST(TfRecordFormatTest, ASampleThatIsDamagedCostsNoOther) {
  const Blob whole = written({encoded_sample("a", "image 0", "mask 0"), encoded_sample("b", "image 1", "mask 1")});
  std::vector<uint8_t> bytes(whole.bytes.begin(), whole.bytes.end());
  bytes[40] ^= 1;
  const Blob file = own_bytes(bytes);
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] { read(file, 0); }), "its checksum does not match");
  EXPECT_EQ(text_of(read(file, 1).image), "image 1");
}

TEST(TfRecordFormatTest, RecordsOfOtherThingsAreBadSamples) {
  std::string other;
  put_tfrecord(other, "\xFF\xFFno message");
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] {
                    read(own_bytes({other.begin(), other.end()}));
                  }),
                  "is no tf.train.Example");
  records::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image"].mutable_int64_list()->add_value(3);  // pixels, not a file
  features["height"].mutable_int64_list()->add_value(3);
  EXPECT_CONTAINS(testing::message_of<BadSample>([&] { read(record_of(example)); }),
                  "has no feature image or image/encoded of bytes (its features: height, image)");
}

TEST(TfRecordFormatTest, APlaceOfAnotherFileIsABadSample) {
  const Blob file = written({encoded_sample("a", "image 0", "mask 0")});
  for (const RecordPlace& place : {RecordPlace{"", 0, 1000}, RecordPlace{"", ~uint64_t{0}, 8}, RecordPlace{"", 3, 20}})
    EXPECT_NE(testing::message_of<BadSample>([&] { kFormat.read(file, place, "x", "f"); }), "");
}

TEST(TfRecordFormatTest, ARecordIsNeverTakenForACompressedFile) {
  // Of 0x9C78 bytes: the file begins as a ZLIB stream does.
  std::string file;
  put_tfrecord(file, std::string(0x9C78, 'x'));
  EXPECT_FALSE(kFormat.is_packed({reinterpret_cast<const uint8_t*>(file.data()), file.size()}));
}

}  // namespace
}  // namespace tessera
