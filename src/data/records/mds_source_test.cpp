#include "data/records/mds_source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "core/rng.h"
#include "data/records/mds_shard.h"
#include "data/records/mds_summary.h"
#include "data/sample.h"
#include "storage/compression.h"
#include "storage/content_hash.h"
#include "support/fixtures.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;
using Values = std::vector<std::string>;

std::vector<std::span<const uint8_t>> spans_of(const Values& values) {
  std::vector<std::span<const uint8_t>> spans;
  for (const std::string& value : values) spans.emplace_back(reinterpret_cast<const uint8_t*>(value.data()), value.size());
  return spans;
}

const MdsColumns kThree = {{"uid", "str", 0}, {"x", "jpeg", 0}, {"y", "png", 0}};

// A folder of MDS shards, each with these samples.
struct Written {
  TempFolder folder;
  std::vector<MdsShard> index;

  void add(const std::vector<Values>& samples, const MdsColumns& columns = kThree, const std::string& compression = "") {
    const MdsOptions options{compression, {"xxh64"}, uint64_t{1} << 26};
    MdsShardBuilder builder(columns, options);
    for (const Values& sample : samples) builder.add(spans_of(sample));
    const std::vector<uint8_t> raw = builder.finish();
    MdsShard shard{std::make_shared<const MdsColumns>(columns), options, builder.samples(), {}, std::nullopt};
    shard.raw = {fmt::format("shard.{:05}.mds", index.size()), raw.size(), {{"xxh64", content_hash("xxh64", raw)}}};
    std::vector<uint8_t> stored = raw;
    if (!compression.empty()) {
      stored = compress(parse_compression(compression), raw);
      shard.zip = {shard.raw.name + "." + compression, stored.size(), {{"xxh64", content_hash("xxh64", stored)}}};
    }
    write_file(folder / shard.stored().name, std::span(stored));
    index.push_back(shard);
    write_index();
  }
  void write_index() const { write_file(folder / "index.json", mds_index_text(index)); }
  void change(const std::string& name, size_t at) const {
    std::vector<uint8_t> bytes = read_bytes(folder / name);
    bytes.at(at) ^= 1;
    write_file(folder / name, std::span(bytes));
  }
  RecordSourcePtr open(const RecordsConfig& config = {}) const {
    return open_mds(open_file_store(folder.path().string()), config);
  }
};

std::string text(const Blob& blob) {
  return {blob.bytes.begin(), blob.bytes.end()};
}

TEST(MdsSource, SamplesComeInTheOrderOfTheShards) {
  Written set;
  set.add({{"a", "image a", "mask a"}, {"b", "image b", "mask b"}});
  set.add({});
  set.add({{"c", "image c", "mask c"}}, kThree, "zstd");
  const RecordSourcePtr source = set.open();
  ASSERT_EQ(source->size(), 3);
  EXPECT_EQ(source->shard_starts(), (std::vector<int64_t>{0, 2}));
  EXPECT_TRUE(source->labelled());
  for (int64_t i : {2, 0, 1, 2}) {
    const std::string name(1, static_cast<char>('a' + i));
    const EncodedSample sample = source->read(i);
    EXPECT_EQ(sample.id, name);
    EXPECT_EQ(source->id(i), name);
    EXPECT_EQ(text(sample.image), "image " + name);
    EXPECT_EQ(text(sample.labels), "mask " + name);
  }
  EXPECT_CONTAINS(source->read(1).labels_name, "shard.00000.mds, sample 1, column y");
}

TEST(MdsSource, ColumnsAreFoundByTheirUsualNamesOrByThoseOfTheConfig) {
  Written usual;
  usual.add({{"7", "im", "ma"}}, {{"Image", "bytes", 0}, {"Mask", "bytes", 0}, {"z", "str", 0}});
  EXPECT_EQ(text(usual.open()->read(0).image), "7");
  EXPECT_EQ(text(usual.open()->read(0).labels), "im");
  EXPECT_EQ(usual.open()->read(0).id, "00000000");

  Written own;
  own.add({{"p", "q", std::string("\x09\0\0\0\0\0\0\0", 8)}}, {{"before", "bytes", 0}, {"behind", "png", 0}, {"n", "int", 8}});
  const RecordsConfig names{.image = "behind", .labels = "before", .id = "n"};
  EXPECT_EQ(text(own.open(names)->read(0).image), "q");
  EXPECT_EQ(own.open(names)->read(0).id, "9");
  EXPECT_CONTAINS(message_of<UsageError>([&] { own.open(); }), "set data.records.image");
  EXPECT_CONTAINS(message_of<UsageError>([&] { own.open({.image = "behin"}); }), "did you mean 'behind'");
  EXPECT_CONTAINS(message_of<UsageError>([&] { own.open({.image = "n"}); }), "'n' of");
  EXPECT_CONTAINS(message_of<UsageError>([&] { own.open({.image = "n"}); }), "before (bytes), behind (png), n (int)");
}

TEST(MdsSource, PickledColumnsAreNeverRead) {
  Written set;
  set.add({{"im", "code"}}, {{"x", "jpeg", 0}, {"y", "pkl", 0}});
  EXPECT_FALSE(set.open()->labelled());
  EXPECT_EQ(set.open()->parts(), "x (jpeg), y (pkl)");
  EXPECT_EQ(text(set.open()->read(0).image), "im");
  EXPECT_CONTAINS(message_of<UsageError>([&] { set.open({.labels = "y"}); }), "reading it would run code");
}

TEST(MdsSource, EncodingsThatAreNotKnownAreNamed) {
  Written set;
  set.add({{"im"}}, {{"x", "jpge", 0}});
  EXPECT_CONTAINS(message_of([&] { set.open(); }),
                  "column 'x' has the encoding 'jpge', which is not known, did you mean 'jpeg'?");
  Written sized;
  sized.add({{"im34"}}, {{"x", "int", 4}});
  EXPECT_CONTAINS(message_of([&] { sized.open(); }), "says that its values have 4 bytes, expected 8");
}

TEST(MdsSource, DamagedShardsAreNamedAndNeverReadAsData) {
  for (const char* compression : {"", "br", "gz", "zstd"}) {
    Written set;
    set.add({{"a", std::string(500, 'i'), "m"}}, kThree, compression);
    const std::string name = set.index[0].stored().name;
    const size_t size = fs::file_size(set.folder / name);
    for (const size_t at : {size_t{0}, size / 2, size - 1}) {
      set.change(name, at);
      EXPECT_CONTAINS(message_of([&] { set.open()->read(0); }), name + " is damaged: its xxh64");
      set.change(name, at);
    }
    fs::resize_file(set.folder / name, size - 1);
    EXPECT_CONTAINS(message_of([&] { set.open()->read(0); }), name + " has");
    fs::remove(set.folder / name);
    EXPECT_CONTAINS(message_of([&] { set.open()->read(0); }), name);
  }
}

TEST(MdsSummary, SaysWhatColumnsHold) {
  Written set;
  set.add({{"a", "image a", std::string(1, '\x07')}, {"b\x1b", "image b", "m"}},
          {{"uid", "str", 0}, {"x", "bytes", 0}, {"y", "png", 0}});
  set.add({{"c", "i", "m"}}, {{"uid", "str", 0}, {"x", "bytes", 0}, {"y", "png", 0}}, "zstd");
  const std::string text = mds_summary(*open_file_store(set.folder.path().string()), 3);
  EXPECT_CONTAINS(text, "3 samples in 2 shards");
  EXPECT_CONTAINS(text, "hashes xxh64");
  EXPECT_CONTAINS(text, "sample 0: uid: a, x: image a, y: 1 bytes\n");
  EXPECT_CONTAINS(text, "sample 1: uid: b\\x1b, ");
  EXPECT_CONTAINS(text, "sample 2: uid: c, x: i, y: 1 bytes\n");
}

TEST(MdsSource, NamesThatLeadElsewhereAreNoNames) {
  Written set;
  set.add({{"../../etc/x", "i", "m"}, {"", "i", "m"}, {"sub/ok", "i", "m"}});
  EXPECT_EQ(set.open()->id(0), "00000000");
  EXPECT_EQ(set.open()->id(1), "00000001");
  EXPECT_EQ(set.open()->id(2), "sub/ok");
}

TEST(MdsSource, AListOfPicturesMustHaveOne) {
  const auto list = [](uint32_t count) {
    std::string value("\x00\x00\x00\x00", 4);
    value += std::string(1, static_cast<char>(count)) + std::string(3, '\0');
    for (uint32_t i = 0; i < count; ++i) value += std::string("\x02\0\0\0", 4);
    for (uint32_t i = 0; i < count; ++i) value += "pq";
    return value;
  };
  Written set;
  set.add({{list(1)}, {list(2)}, {list(0)}, {std::string(8, '\xff')}}, {{"x", "list[jpeg]", 0}});
  EXPECT_EQ(text(set.open()->read(0).image), "pq");
  EXPECT_CONTAINS(message_of<BadSample>([&] { set.open()->read(1); }), "column 'x' holds 2 pictures here");
  EXPECT_CONTAINS(message_of<BadSample>([&] { set.open()->read(2); }), "holds 0 pictures");
  EXPECT_CONTAINS(message_of<BadSample>([&] { set.open()->read(3); }), "its list says that it has 4294967295 items in 0 bytes");
}

// What an index may say that cannot be.
TEST(MdsSource, ImpossibleIndicesAreRefused) {
  Written set;
  set.add({{"a", "i", "m"}});
  const std::string good = mds_index_text(set.index);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    EXPECT_NE(changed.find(from), std::string::npos) << from;
    changed.replace(changed.find(from), from.size(), to);
    write_file(set.folder / "index.json", changed);
    return message_of([&] { set.open()->read(0); });
  };
  EXPECT_CONTAINS(with("{", "{{"), "is no JSON");
  EXPECT_CONTAINS(with("\"version\": 2}", "\"version\": 3}"), "version other than 2");
  EXPECT_CONTAINS(with("shard.00000.mds", "../shard.00000.mds"), "expected one in the folder of the index");
  EXPECT_CONTAINS(with("shard.00000.mds", "/etc/passwd"), "expected one in the folder of the index");
  EXPECT_CONTAINS(with("\"samples\": 1", "\"samples\": 2"), "has 1 samples, the index says 2");
  EXPECT_CONTAINS(with("\"samples\": 1", "\"samples\": -1"), "expected a number from 0");
  EXPECT_CONTAINS(with("\"mds\"", "\"csv\""), "only mds can be read");
  EXPECT_CONTAINS(with("[\"uid\", ", "[\"uid\", \"w\", "), "4 column names, 3 encodings");
  EXPECT_CONTAINS(with("\"compression\": null", "\"compression\": \"zstd\""), "names a compressed file but no compression");
}

// Every cut and every changed byte of a shard's header and lengths is an Error or a sample within the file, never more.
TEST(MdsSource, HostileShardsAreBounded) {
  MdsShardBuilder builder(kThree, {});
  builder.add(spans_of({"a", "image", "mask"}));
  builder.add(spans_of({"b", "image two", "mask two"}));
  const std::vector<uint8_t> good = builder.finish();
  Rng rng(3, Stream::kSynthetic);
  int read = 0;
  for (size_t trial = 0; trial < 4000; ++trial) {
    std::vector<uint8_t> bytes = good;
    if (trial < good.size()) {
      bytes.resize(trial);
    } else {
      for (int k = 0; k < 3; ++k) bytes[rng.below(static_cast<uint32_t>(bytes.size()))] = static_cast<uint8_t>(rng.below(256));
    }
    const Blob blob = own_bytes(bytes);
    try {
      const MdsShardFile file(blob, 2, "shard");
      for (int64_t i = 0; i < 2; ++i) {
        for (const Blob& value : file.values(i, kThree)) {
          EXPECT_GE(value.bytes.data(), blob.bytes.data());
          EXPECT_LE(value.bytes.data() + value.size(), blob.bytes.data() + blob.size());
          ++read;
        }
      }
    } catch (const Error&) {
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace tessera
