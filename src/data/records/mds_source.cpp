#include "data/records/mds_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.h"
#include "core/printable.h"
#include "data/records/mds_encoding.h"
#include "data/records/mds_files.h"
#include "data/records/record_names.h"
#include "data/records/shard_cache.h"
#include "data/records/shard_format.h"
#include "data/sample.h"

namespace tessera {
namespace {

// Where the parts of a sample are among the columns of its shard.
struct Places {
  size_t image = 0;
  std::optional<size_t> labels, id;
};

std::vector<RecordPart> parts_of(const MdsColumns& columns) {
  std::vector<RecordPart> parts;
  for (const MdsColumn& column : columns) parts.push_back({column.name, column.encoding, holds_pictures(column.encoding)});
  return parts;
}

Places places_of(const MdsColumns& columns, const RecordsConfig& config, const std::string& where) {
  for (const MdsColumn& column : columns) check_mds_column(column, where);
  const std::vector<RecordPart> parts = parts_of(columns);
  const auto refuse_pickle = [&](const std::string& name, const char* key) {
    for (const MdsColumn& column : columns) {
      if (!name.empty() && column.name == name && column.encoding == "pkl")
        fail_usage(
            "data.records.{}: column '{}' of {} is pickled (pkl): reading it would run code that the file brings, so it is "
            "never read; write the column as jpeg, png, ndarray or bytes",
            key, printable(name), where);
    }
  };
  refuse_pickle(config.image, "image");
  refuse_pickle(config.labels, "labels");
  refuse_pickle(config.id, "id");
  const RecordNames names = choose_names(config, parts, where);
  const auto place = [&](const std::string& name) -> std::optional<size_t> {
    const auto found = std::find_if(columns.begin(), columns.end(), [&](const MdsColumn& one) { return one.name == name; });
    if (name.empty() || found == columns.end()) return std::nullopt;
    return static_cast<size_t>(found - columns.begin());
  };
  return {place(names.image).value(), place(names.labels), place(names.id)};
}

class MdsSource : public RecordSource {
 public:
  MdsSource(std::shared_ptr<FileStore> store, const RecordsConfig& config)
      : store_(std::move(store)), local_(store_->root().find("://") == std::string::npos) {
    const std::string index = store_->root() + "/" + kMdsIndexName;
    shards_ = read_mds_index(*store_);
    for (const MdsShard& shard : shards_) {
      const bool as_before = !places_.empty() && shard.columns == shards_[places_.size() - 1].columns;
      places_.push_back(as_before ? places_.back() : places_of(*shard.columns, config, index));
      TSR_CHECK(places_.back().labels.has_value() == places_.front().labels.has_value(),
                "{}: shard {} has {} labels, those before have{}", index, places_.size() - 1, places_.back().labels ? "" : "no",
                places_.back().labels ? " none" : "");
      starts_.push_back(size_);
      size_ += shard.samples;
    }
    // The order of training reads the shards of one block at a time, and those of the next while that ends.
    const int64_t block = config.shuffle_block > 0 ? std::min(config.shuffle_block, size_) : size_;
    const size_t per_block =
        shards_.empty() || size_ == 0 ? 1 : shards_.size() * static_cast<size_t>(block) / static_cast<size_t>(size_);
    open_ = std::make_unique<ShardCache<MdsShardFile>>(
        2 * per_block + 4, [this](size_t shard) { return open_mds_shard(*store_, shards_[shard]); });
  }

  int64_t size() const override { return size_; }
  bool labelled() const override { return places_.empty() || places_.front().labels.has_value(); }
  std::string parts() const override { return shards_.empty() ? "" : parts_text(parts_of(*shards_.front().columns)); }

  std::string id(int64_t index) const override {
    const auto [shard, sample] = find(index);
    if (!places_[shard].id || !local_) return number_name(index);
    return name_of(shard, open_->get(shard)->values(sample, *shards_[shard].columns), index);
  }

  EncodedSample read(int64_t index) const override {
    const auto [shard, sample] = find(index);
    const std::shared_ptr<const MdsShardFile> file = open_->get(shard);
    std::string id = number_name(index);
    try {
      const MdsColumns& columns = *shards_[shard].columns;
      const std::vector<Blob> values = file->values(sample, columns);
      id = name_of(shard, values, index);
      const std::string where = fmt::format("{}, sample {}", file->name(), sample);
      const auto picture = [&](size_t column, PictureUse use) { return mds_picture(columns[column], values[column], use); };
      const auto label = [&](size_t column) { return where + ", column " + columns[column].name; };
      const Places& at = places_[shard];
      EncodedSample stored{id, picture(at.image, PictureUse::kImage), label(at.image), {}, ""};
      if (at.labels) {
        stored.labels = picture(*at.labels, PictureUse::kLabels);
        stored.labels_name = label(*at.labels);
      }
      return stored;
    } catch (const Error& error) {
      throw BadSample(id, error.what());
    }
  }

  std::vector<int64_t> shard_starts() const override {
    std::vector<int64_t> starts;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (shards_[i].samples > 0) starts.push_back(starts_[i]);
    }
    return starts;
  }

  void will_need(const std::vector<int64_t>& indices) const override {
    std::vector<std::string> names;
    for (const int64_t index : indices) {
      const std::string& name = shards_[find(index).first].stored().name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    store_->will_need(names);
  }

 private:
  std::pair<size_t, int64_t> find(int64_t index) const {
    TSR_CHECK(index >= 0 && index < size_, "sample {} of {}", index, size_);
    const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
    const auto shard = static_cast<size_t>(after - starts_.begin()) - 1;
    return {shard, index - starts_[shard]};
  }

  static std::string number_name(int64_t index) { return fmt::format("{:08}", index); }

  // Shards that lie elsewhere are not fetched for the names of their samples; so no sample has its own, and all names agree.
  std::string name_of(size_t shard, const std::vector<Blob>& values, int64_t index) const {
    const std::optional<size_t> column = places_[shard].id;
    if (!column || !local_) return number_name(index);
    const std::string name = mds_name((*shards_[shard].columns)[*column], values[*column].bytes);
    return usable_id(name) ? name : number_name(index);
  }

  std::shared_ptr<FileStore> store_;
  bool local_;
  std::vector<MdsShard> shards_;
  std::vector<Places> places_;   // of each shard
  std::vector<int64_t> starts_;  // its first sample
  int64_t size_ = 0;
  std::unique_ptr<ShardCache<MdsShardFile>> open_;
};

}  // namespace

RecordSourcePtr open_mds(std::shared_ptr<FileStore> store, const RecordsConfig& config) {
  return std::make_shared<MdsSource>(std::move(store), config);
}

}  // namespace tessera
