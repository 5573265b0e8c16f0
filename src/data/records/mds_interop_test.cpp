// mosaicml-streaming's shards and what its reader makes of them: tests/interop/make_mds.py.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/files.h"
#include "data/decode/npy.h"
#include "data/records/mds_encoding.h"
#include "data/records/mds_index.h"
#include "data/records/mds_shard.h"
#include "data/records/mds_source.h"
#include "storage/compression.h"
#include "storage/content_hash.h"
#include "support/fixtures.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using Json = nlohmann::json;
using testing::TempFolder;

std::vector<Json> cases() {
  static const Json fixture = testing::load_fixture("mds.json");
  return fixture.at("cases");
}

std::map<std::string, std::vector<uint8_t>> files_of(const Json& one) {
  std::map<std::string, std::vector<uint8_t>> files;
  for (const auto& [name, text] : one.at("files").items()) files[name] = testing::from_base64(text.get<std::string>());
  return files;
}

std::vector<MdsShard> index_of(const Json& one) {
  const std::vector<uint8_t> text = files_of(one).at("index.json");
  return parse_mds_index({reinterpret_cast<const char*>(text.data()), text.size()}, "index.json");
}

std::vector<uint8_t> raw_bytes(const Json& one, const MdsShard& shard) {
  const std::vector<uint8_t> stored = files_of(one).at(shard.stored().name);
  EXPECT_EQ(stored.size(), shard.stored().bytes);
  check_hashes("stored", stored, shard.stored().hashes);
  if (!shard.zip) return stored;
  std::vector<uint8_t> raw(shard.raw.bytes);
  decompress(parse_compression(shard.options.compression).kind, stored, raw, "zip");
  check_hashes("raw", raw, shard.raw.hashes);
  return raw;
}

// The pixels that a picture's file decodes to, as nested lists flattened.
std::vector<double> pixels_of(const Blob& file) {
  const Raster raster = decode_npy(file.bytes);
  std::vector<double> values;
  if (raster.image.is_bytes()) {
    for (const uint8_t value : raster.image.bytes()) values.push_back(value);
  } else {
    for (const float value : raster.image.floats()) values.push_back(value);
  }
  return values;
}

std::vector<double> flat(const Json& nested) {
  if (nested.is_number()) return {nested.get<double>()};
  std::vector<double> values;
  for (const Json& inner : nested) {
    const std::vector<double> some = flat(inner);
    values.insert(values.end(), some.begin(), some.end());
  }
  return values;
}

void expect_value(const MdsColumn& column, const Blob& value, const Json& expected) {
  EXPECT_EQ(content_hash("sha1", value.bytes), expected.at("sha1").get<std::string>()) << column.name;
  const std::string text = mds_text(column, value.bytes);
  if (expected.contains("text")) {
    EXPECT_EQ(text, expected["text"].get<std::string>()) << column.name;
  }
  if (expected.contains("number")) {
    const auto found = Json::parse(text).get<double>(), wanted = expected["number"].get<double>();
    EXPECT_EQ(column.encoding == "float32" ? static_cast<float>(found) : found, wanted) << column.name << " " << text;
  }
  if (expected.contains("count")) {
    const int64_t commas = std::count(text.begin(), text.end(), ',');
    EXPECT_EQ(text == "[]" ? 0 : commas + 1, expected["count"]) << text;
  }
  if (expected.contains("pixels")) {
    EXPECT_EQ(pixels_of(mds_picture(column, value, PictureUse::kImage)), flat(expected["pixels"]))
        << column.name << " " << text;
  }
}

TEST(MdsInterop, EveryValueIsReadAsMosaicsReaderReadsIt) {
  for (const Json& one : cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const Json& samples = one.at("samples");
    size_t at = 0;
    for (const MdsShard& shard : index_of(one)) {
      const MdsShardFile file(own_bytes(raw_bytes(one, shard)), shard.samples, shard.raw.name);
      for (const MdsColumn& column : *shard.columns) check_mds_column(column, "index");
      for (int64_t i = 0; i < shard.samples; ++i, ++at) {
        const std::vector<Blob> values = file.values(i, *shard.columns);
        for (size_t c = 0; c < values.size(); ++c)
          expect_value((*shard.columns)[c], values[c], samples.at(at).at((*shard.columns)[c].name));
      }
    }
    EXPECT_EQ(at, samples.size());
  }
}

// Shards begin where MDSWriter begins them, and are its bytes; so is the index, which also has the header's options. How well
// files are compressed is the libraries' own: theirs is taken over.
TEST(MdsInterop, ShardsAndIndexAreMdsWritersToTheByte) {
  for (const Json& one : cases()) {
    SCOPED_TRACE(one.at("name").get<std::string>());
    const std::vector<MdsShard> index = index_of(one);
    std::vector<std::vector<uint8_t>> raws;
    std::vector<std::vector<Blob>> samples;
    for (const MdsShard& shard : index) {
      raws.push_back(raw_bytes(one, shard));
      const MdsShardFile file(own_bytes(raws.back()), shard.samples, "raw");
      for (int64_t i = 0; i < shard.samples; ++i) samples.push_back(file.values(i, *shard.columns));
    }
    MdsColumns columns;
    for (const auto& [name, encoding] : one.at("columns").items())
      columns.push_back({name, encoding, mds_value_size(encoding)});
    const MdsOptions& options = index.at(0).options;
    std::vector<MdsShard> written;
    MdsShardBuilder shard(columns, options);
    const auto flush = [&] {
      const std::vector<uint8_t> raw = shard.finish();
      EXPECT_EQ(raw, raws.at(written.size()));
      MdsShard entry{std::make_shared<const MdsColumns>(columns),
                     options,
                     shard.samples(),
                     {fmt::format("shard.{:05}.mds", written.size()), raw.size(), {}},
                     index.at(written.size()).zip};
      for (const std::string& hash : options.hashes) entry.raw.hashes[hash] = content_hash(hash, raw);
      written.push_back(std::move(entry));
      shard = MdsShardBuilder(columns, options);
    };
    for (const std::vector<Blob>& sample : samples) {
      std::vector<std::span<const uint8_t>> values;
      for (const Blob& value : sample) values.push_back(value.bytes);
      if (options.size_limit && shard.bytes_with(values) > *options.size_limit) flush();
      shard.add(values);
    }
    flush();
    const std::vector<uint8_t> text = files_of(one).at("index.json");
    EXPECT_EQ(mds_index_text(written), std::string(text.begin(), text.end()));
  }
}

TEST(MdsInterop, FoldersAreRecordSources) {
  for (const Json& one : cases()) {
    if (one.at("columns").size() != 3) continue;
    SCOPED_TRACE(one.at("name").get<std::string>());
    const TempFolder folder;
    for (const auto& [name, bytes] : files_of(one)) write_file(folder / name, std::span(bytes));
    const RecordSourcePtr source = open_mds(open_file_store(folder.path().string()), {});
    const Json& samples = one.at("samples");
    ASSERT_EQ(source->size(), std::ssize(samples));
    EXPECT_EQ(std::ssize(source->shard_starts()), std::ssize(index_of(one)));
    for (int64_t i = 0; i < source->size(); ++i) {
      const EncodedSample sample = source->read(i);
      EXPECT_EQ(sample.id, fmt::format("ADE_{:04}", i));
      EXPECT_EQ(source->id(i), sample.id);
      EXPECT_EQ(content_hash("sha1", sample.image.bytes), samples[static_cast<size_t>(i)]["x"]["sha1"]);
      EXPECT_EQ(content_hash("sha1", sample.labels.bytes), samples[static_cast<size_t>(i)]["y"]["sha1"]);
    }
  }
}

}  // namespace
}  // namespace tessera
