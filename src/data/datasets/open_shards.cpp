#include "data/datasets/open_shards.h"

#include "core/error.h"
#include "core/files.h"
#include "data/datasets/open_data_store.h"
#include "data/datasets/shard_names.h"
#include "data/records/indexed_shards.h"
#include "data/records/tar_format.h"
#include "data/records/tfrecord_format.h"

namespace tessera {
namespace {

std::unique_ptr<const ShardFormat> format_of(SourceType type, const RecordsConfig& config) {
  if (type == SourceType::kTar) return std::make_unique<TarFormat>(member_names(config));
  return std::make_unique<TfRecordFormat>(feature_names(config));
}

std::string usual_names(SourceType type) {
  return type == SourceType::kTar ? "NAME.tar or NAME.tar.gz" : "NAME.tfrecord, NAME.tfrecords or NAME-00000-of-00008";
}

}  // namespace

RecordSourcePtr open_shards(SourceType type, const std::string& place, Split split, const RecordsConfig& config,
                            const RemoteConfig& remote) {
  std::unique_ptr<const ShardFormat> format = format_of(type, config);
  if (auto pattern = shard_pattern(place, *format)) {
    SplitShards shards = shards_of_split(pattern->files, *format, split);
    if (shards.files.empty()) shards.files = std::move(pattern->files);  // named for this split, whatever they are called
    return std::make_shared<IndexedShards>(open_data_store(remote, pattern->root), std::move(shards.files), std::move(format));
  }
  auto store = open_data_store(remote, place);
  SplitShards shards = shards_of_split(store->list(""), *format, split);
  TSR_CHECK(!shards.files.empty(), "there are no {} shards in {}{}: expected files called {}", name_of(type), store->root(),
            shards.named ? fmt::format(" that are called after the {} split", name_of(split)) : "", usual_names(type));
  return std::make_shared<IndexedShards>(std::move(store), std::move(shards.files), std::move(format));
}

bool has_shards(SourceType type, const std::string& place, Split split) {
  if (type == SourceType::kMds) return false;
  const auto format = format_of(type, {});
  std::vector<std::string> names;
  if (auto pattern = shard_pattern(place, *format)) {
    names = std::move(pattern->files);
  } else {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
      names.push_back(entry->path().filename().string());
  }
  const SplitShards shards = shards_of_split(names, *format, split);
  return !shards.files.empty() && (shards.named || split == Split::kTrain);
}

std::string shard_root(SourceType type, const std::string& place) {
  if (type == SourceType::kMds) return place;
  const auto pattern = shard_pattern(place, *format_of(type, {}));
  return pattern ? pattern->root : place;
}

}  // namespace tessera
