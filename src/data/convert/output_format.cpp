#include "data/convert/output_format.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "core/error.h"
#include "core/suggest.h"
#include "data/convert/folder_output.h"
#include "data/convert/stored_sample.h"
#include "data/datasets/open_shards.h"
#include "data/decode/decode.h"
#include "data/records/mds_source.h"
#include "data/records/mds_writer.h"
#include "data/records/tar_writer.h"
#include "data/records/tfrecord_writer.h"
#include "storage/compression.h"
#include "storage/content_hash.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

// The formats of image files that some bytes were found to have.
class FormatsSeen {
 public:
  void add(std::span<const uint8_t> bytes) {
    if (bytes.empty()) return;
    try {
      seen_.insert(detect_format(bytes));
    } catch (const Error&) {
      other_ = true;
    }
  }

  // What mosaicml-streaming calls a column of them: it gives pictures for jpeg and png, and bytes for all else.
  std::string encoding() const {
    if (seen_.empty() && !other_) return "";
    if (seen_.size() > 1 || other_) return "bytes";
    if (seen_.count(FileFormat::kJpeg) == 1) return "jpeg";
    return seen_.count(FileFormat::kPng) == 1 ? "png" : "bytes";
  }

 private:
  std::set<FileFormat> seen_;
  bool other_ = false;
};

MdsColumns columns_of(const Dataset& dataset) {
  FormatsSeen images, labels;
  for (const int64_t index : spread_samples(dataset)) {
    const EncodedSample sample = stored_sample(dataset, index);
    images.add(sample.image.bytes);
    labels.add(sample.labels.bytes);
  }
  return mds_sample_columns(images.encoding().empty() ? "bytes" : images.encoding(), labels.encoding());
}

class MdsOutput : public OutputFormat {
 public:
  MdsOutput(const OutputOptions& options, MdsColumns columns)
      : columns_(std::make_shared<const MdsColumns>(std::move(columns))),
        options_{options.compression, options.hashes, options.shard_bytes} {
    if (!options.compression.empty()) compression_ = parse_compression(options.compression);
  }

  std::unique_ptr<ShardWriter> new_shard() const override { return std::make_unique<MdsWriter>(*columns_, options_); }

  std::vector<NamedBytes> files(ShardWriter& shard, int64_t number, Json& about) const override {
    NamedBytes file{fmt::format("shard.{:05}.mds", number), shard.finish()};
    about["raw"] = describe(file);
    if (!compression_) return {std::move(file)};
    NamedBytes zip{file.name + "." + std::string(compression_->extension()), compress(*compression_, file.bytes)};
    about["zip"] = describe(zip);
    return {std::move(zip)};
  }

  std::vector<NamedBytes> closing(const std::vector<WrittenShard>& shards) const override {
    std::vector<MdsShard> index;
    for (const WrittenShard& shard : shards) {
      index.push_back({columns_, options_, shard.count, file_of(shard.about.at("raw")), std::nullopt});
      if (compression_) index.back().zip = file_of(shard.about.at("zip"));
    }
    const std::string text = mds_index_text(index);
    return {{kMdsIndexName, {text.begin(), text.end()}}};
  }

  RecordSourcePtr open(const fs::path& folder) const override { return open_mds(open_file_store(folder.string()), {}); }

 private:
  Json describe(const NamedBytes& file) const {
    Json hashes = Json::object();
    for (const std::string& name : options_.hashes) hashes[name] = content_hash(name, file.bytes);
    return {{"name", file.name}, {"bytes", file.bytes.size()}, {"hashes", hashes}};
  }
  static MdsFile file_of(const Json& json) {
    return {json.at("name").get<std::string>(), json.at("bytes").get<uint64_t>(),
            json.at("hashes").get<std::map<std::string, std::string>>()};
  }

  std::shared_ptr<const MdsColumns> columns_;
  MdsOptions options_;
  std::optional<Compression> compression_;
};

// Shards without an index.
class PlainOutput : public OutputFormat {
 public:
  PlainOutput(const OutputOptions& options, SourceType type, Split split) : type_(type), split_(split) {
    if (!options.compression.empty()) compression_ = parse_compression(options.compression);
  }

  std::unique_ptr<ShardWriter> new_shard() const override {
    if (type_ == SourceType::kTar) return std::make_unique<TarWriter>();
    return std::make_unique<TfRecordWriter>();
  }

  std::vector<NamedBytes> files(ShardWriter& shard, int64_t number, Json& /*about*/) const override {
    NamedBytes file{fmt::format("shard-{:06}.{}", number, name_of(type_)), shard.finish()};
    if (!compression_) return {std::move(file)};
    return {{file.name + ".gz", compress(*compression_, file.bytes)}};
  }

  RecordSourcePtr open(const fs::path& folder) const override { return open_shards(type_, folder.string(), split_, {}, {}); }

  bool needs_unique_names() const override { return type_ == SourceType::kTar; }

 private:
  SourceType type_;
  Split split_;
  std::optional<Compression> compression_;
};

}  // namespace

void check_output(const OutputOptions& options) {
  const std::vector<std::string> formats = {"mds", "tfrecord", "tar", "folder"};
  TSR_CHECK_USAGE(std::find(formats.begin(), formats.end(), options.format) != formats.end(),
                  "--format {}: expected mds, tfrecord, tar or folder{}", options.format,
                  did_you_mean(options.format, formats));
  for (const std::string& name : options.hashes)
    TSR_CHECK_USAGE(is_hash_name(name), "--hash {}: no hash is called so{}", name, did_you_mean(name, hash_names()));
  TSR_CHECK_USAGE(options.format == "mds" || options.hashes.empty(),
                  "--hash is for --format mds, whose index holds hashes; {} has none", options.format);
  if (!options.compression.empty()) {
    const Compression compression = parse_compression(options.compression);
    TSR_CHECK_USAGE(options.format != "folder", "--compression is for shards; a folder has the files as they are");
    TSR_CHECK_USAGE(options.format == "mds" || compression.kind == Compression::Kind::kGzip,
                    "--compression {}: readers of {} know gz alone", options.compression, options.format);
  }
  TSR_CHECK_USAGE(options.format != "mds" || options.shard_bytes <= std::numeric_limits<uint32_t>::max(),
                  "--shard-size of mds is below 4 GB, it counts in 32 bits");
}

std::unique_ptr<OutputFormat> make_output_format(const OutputOptions& options, const Dataset& dataset, Split split) {
  if (options.format == "folder") return std::make_unique<FolderOutput>();
  if (options.format == "tar") return std::make_unique<PlainOutput>(options, SourceType::kTar, split);
  if (options.format == "tfrecord") return std::make_unique<PlainOutput>(options, SourceType::kTfrecord, split);
  return std::make_unique<MdsOutput>(options, columns_of(dataset));
}

}  // namespace tessera
