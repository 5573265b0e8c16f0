#include "data/records/tar_format.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/records/tar_writer.h"
#include "data/sample.h"
#include "storage/tar.h"
#include "support/encoded_samples.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::encoded_sample;
using testing::text_of;

const std::string kJpeg = "\xFF\xD8 jpeg", kPng = "\x89PNG png";
const TarFormat kFormat{member_names({})};

// Files whose content is their name.
Blob archive_of(const std::vector<std::string>& names) {
  std::vector<uint8_t> archive;
  for (const std::string& name : names)
    put_tar_member(archive, name, {reinterpret_cast<const uint8_t*>(name.data()), name.size()});
  end_tar(archive);
  return own_bytes(archive);
}

EncodedSample read(const TarFormat& format, const Blob& file, size_t record = 0) {
  return format.read(file, format.places(file.bytes, "f").at(record), "the id", "f, sample 0");
}

TEST(TarFormatTest, WhatIsWrittenIsRead) {
  TarWriter writer;
  const std::vector<EncodedSample> samples{encoded_sample("a/b.c/d.e", kJpeg, kPng), encoded_sample("100%2E", kPng, kPng),
                                           encoded_sample("last", kJpeg, "")};
  uint64_t most = 0;
  for (const EncodedSample& sample : samples) {
    most = writer.bytes_with(sample);
    writer.add(sample);
  }
  const Blob file = own_bytes(writer.finish());
  EXPECT_EQ(file.size(), most);
  const std::vector<RecordPlace> places = kFormat.places(file.bytes, "f");
  ASSERT_EQ(places.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(places[i].id, samples[i].id);
    EXPECT_EQ(text_of(read(kFormat, file, i).image), text_of(samples[i].image));
    EXPECT_EQ(text_of(read(kFormat, file, i).labels), text_of(samples[i].labels));
  }
  EXPECT_EQ(read(kFormat, file, 0).image_name, "f, sample 0, a/b.c/d%2Ee.jpg");
}

TEST(TarFormatTest, NamesFollowWebDatasetsRule) {
  const auto expect = [](const std::string& file, const std::string& key, const std::string& ending) {
    EXPECT_EQ(member_name(file).key, key) << file;
    EXPECT_EQ(member_name(file).ending, ending) << file;
  };
  expect("a.jpg", "a", "jpg");
  expect("./x.y/a.Seg.PNG", "x.y/a", "seg.png");
  expect("noending", "", "");
  expect("x/.hidden.jpg", "", "");
  expect("__config__", "", "");
  expect("__a.b__", "", "");
}

TEST(TarFormatTest, FilesAreGroupedByTheirKeyAndTheFirstUsualEndingCounts) {
  const Blob file =
      archive_of({"a.json", "a.png", "a.jpg", "b.cls", "c.mask.png", "c.png", "._c.png", "d.jpg", "d.seg.tif", "d.png"});
  const std::vector<RecordPlace> places = kFormat.places(file.bytes, "f");
  ASSERT_EQ(places.size(), 3U);  // b has neither image nor mask
  EXPECT_EQ(places[0].id, "a");
  EXPECT_EQ(places[1].id, "c");
  EXPECT_EQ(text_of(read(kFormat, file, 0).image), "a.jpg");
  EXPECT_EQ(text_of(read(kFormat, file, 0).labels), "a.png");
  EXPECT_EQ(text_of(read(kFormat, file, 1).image), "c.png");
  EXPECT_EQ(text_of(read(kFormat, file, 1).labels), "c.mask.png");
  EXPECT_EQ(text_of(read(kFormat, file, 2).labels), "d.seg.tif");
}

TEST(TarFormatTest, TheConfigNamesOtherEndings) {
  RecordsConfig config;
  config.image = "left.png";
  config.labels = ".ids;classes";
  const TarFormat format(member_names(config));
  const Blob file = archive_of({"a.jpg", "a.left.png", "a.classes", "b.jpg"});
  ASSERT_EQ(format.places(file.bytes, "f").size(), 1U);
  EXPECT_EQ(text_of(read(format, file).image), "a.left.png");
  EXPECT_EQ(text_of(read(format, file).labels), "a.classes");
  config.id = "x";
  EXPECT_CONTAINS(testing::message_of<UsageError>([&] { member_names(config); }), "data.records.id has no effect");
}

TEST(TarFormatTest, GroupsThatCannotBeReadAreBadSamples) {
  const auto message = [](const std::vector<std::string>& names) {
    return testing::message_of<BadSample>([&] { read(kFormat, archive_of(names)); });
  };
  EXPECT_CONTAINS(message({"a.mask.png", "a.json"}), "has no image among its files (json, mask.png)");
  EXPECT_CONTAINS(message({"a.jpg", "a.png", "a.JPG"}), "has two files a.JPG");
  EXPECT_CONTAINS(read(kFormat, archive_of({"a.jpg"})).labels_name, "has no mask among its files (jpg;");
  const Blob file = archive_of({"a.jpg", "b.jpg"});
  for (const RecordPlace& place : {RecordPlace{"a", 0, 100'000}, RecordPlace{"a", ~uint64_t{0}, 8},
                                   RecordPlace{"a", 2048, 1024}, RecordPlace{"a", 100, 1024}, RecordPlace{"a", 0, 700}})
    EXPECT_NE(testing::message_of<BadSample>([&] { kFormat.read(file, place, "a", "f"); }), "") << place.offset;
}

}  // namespace
}  // namespace tessera
