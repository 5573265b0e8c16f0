#include "data/records/indexed_shards.h"

#include <algorithm>
#include <thread>
#include <unordered_set>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/parallel_map.h"
#include "core/plural.h"
#include "core/progress_bar.h"
#include "storage/gunzip.h"

namespace tessera {
namespace {

// Shuffled blocks take from some dozens of shards at a time.
constexpr size_t kMostOpen = 64;
constexpr uint64_t kMostUnpackedBytes = uint64_t{1} << 30;
constexpr int kMostThreads = 4;

}  // namespace

IndexedShards::IndexedShards(std::shared_ptr<FileStore> store, std::vector<std::string> files,
                             std::unique_ptr<const ShardFormat> format)
    : store_(std::move(store)), files_(std::move(files)), format_(std::move(format)), being_loaded_(files_.size(), false) {
  const int threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  ParallelMap<ShardIndex> found(std::ssize(files_), threads, 2L * threads,
                                [this](int64_t shard) { return index_of(static_cast<size_t>(shard)); });
  ProgressBar bar("looking through shards", std::ssize(files_));
  starts_.push_back(0);
  while (std::optional<ShardIndex> index = found.next()) {
    starts_.push_back(starts_.back() + std::ssize(index->places));
    indices_.push_back(*std::move(index));
    bar.update(std::ssize(indices_));
  }
  if (starts_.back() == 0) fail_without_samples();
  drop_repeated_ids();
}

void IndexedShards::fail_without_samples() const {
  std::string advice;
  for (size_t shard = 0; shard < files_.size() && advice.empty(); ++shard) {
    bool unpacked = false;
    const std::vector<std::string> parts = format_->first_parts(load(shard, &unpacked).bytes, message_name(shard));
    if (!parts.empty())
      advice = fmt::format("; the first files of {} end in {}: set data.records.image and data.records.labels",
                           message_name(shard), name_list(parts));
  }
  fail("there are no samples in the {} of {}{}", fmt::format("{} {}", files_.size(), plural(std::ssize(files_), "shard")),
       store_->root(), advice);
}

// Lists and predictions go by names: the first sample of a name keeps it.
void IndexedShards::drop_repeated_ids() {
  std::unordered_set<std::string_view> seen;
  for (ShardIndex& index : indices_) {
    for (RecordPlace& place : index.places) {
      if (place.id.empty() || seen.insert(place.id).second) continue;
      place.id.clear();
    }
  }
}

ShardIdentity IndexedShards::identity_of(size_t shard) const {
  ShardIdentity identity{.place = message_name(shard), .format = format_->name()};
  std::error_code error;
  const fs::path file = fs::absolute(fs::path(store_->root()) / files_[shard], error);
  const uintmax_t size = fs::file_size(file, error);
  if (error) return identity;
  identity.place = file.string();
  identity.size = static_cast<int64_t>(size);
  identity.changed_ns = fs::last_write_time(file, error).time_since_epoch().count();
  return identity;
}

Blob IndexedShards::load(size_t shard, bool* unpacked) const {
  Blob file = store_->open(files_[shard]);
  *unpacked = format_->is_packed(file.bytes);
  return *unpacked ? own_bytes(gunzip(file.bytes, message_name(shard))) : file;
}

ShardIndex IndexedShards::index_of(size_t shard) const {
  const ShardIdentity identity = identity_of(shard);
  if (std::optional<ShardIndex> kept = load_shard_index(identity)) return *std::move(kept);
  bool unpacked = false;
  const Blob bytes = load(shard, &unpacked);
  ShardIndex index{bytes.size(), format_->places(bytes.bytes, message_name(shard))};
  for (RecordPlace& place : index.places) {
    if (!usable_id(place.id)) place.id.clear();
  }
  keep_shard_index(identity, index);
  return index;
}

// What is behind a URL is known by its address alone until here.
void IndexedShards::check_unchanged(size_t shard, const Blob& bytes) const {
  if (bytes.size() == indices_[shard].shard_bytes) return;
  forget_shard_index(identity_of(shard));
  fail("{} has changed since it was looked through: {} bytes then, {} now; start again", message_name(shard),
       indices_[shard].shard_bytes, bytes.size());
}

// A shard is loaded by one thread at a time; others that need it wait, those that need another do not.
Blob IndexedShards::open(size_t shard) const {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const OpenShard& s) { return s.shard == shard; });
    if (found != open_.end()) {
      open_.splice(open_.begin(), open_, found);
      return open_.front().bytes;
    }
    if (!being_loaded_[shard]) break;
    loaded_.wait(lock);
  }
  being_loaded_[shard] = true;
  lock.unlock();
  OpenShard opened{shard, {}, false};
  std::exception_ptr error;
  try {
    opened.bytes = load(shard, &opened.unpacked);
    check_unchanged(shard, opened.bytes);
  } catch (...) {
    error = std::current_exception();
  }
  lock.lock();
  being_loaded_[shard] = false;
  loaded_.notify_all();
  if (error) std::rethrow_exception(error);
  const Blob bytes = opened.bytes;
  open_.push_front(std::move(opened));
  uint64_t unpacked_bytes = 0;
  size_t kept = 0;
  for (auto at = open_.begin(); at != open_.end();) {
    if (at->unpacked) unpacked_bytes += at->bytes.size();
    const bool keep = kept == 0 || (kept < kMostOpen && (!at->unpacked || unpacked_bytes <= kMostUnpackedBytes));
    at = keep ? std::next(at) : open_.erase(at);
    ++kept;
  }
  return bytes;
}

IndexedShards::Position IndexedShards::position_of(int64_t index) const {
  TSR_CHECK(index >= 0 && index < size(), "sample {} of {} was asked for", index, size());
  const auto shard = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), index) - starts_.begin() - 1);
  return {shard, static_cast<size_t>(index - starts_[shard])};
}

std::string IndexedShards::id(int64_t index) const {
  const auto [shard, record] = position_of(index);
  const std::string& own = indices_[shard].places[record].id;
  return own.empty() ? fmt::format("{}#{}", files_[shard], record) : own;
}

EncodedSample IndexedShards::read(int64_t index) const {
  const auto [shard, record] = position_of(index);
  return format_->read(open(shard), indices_[shard].places[record], id(index),
                       fmt::format("{}, sample {}", message_name(shard), record));
}

std::vector<int64_t> IndexedShards::shard_starts() const {
  std::vector<int64_t> starts;
  for (size_t i = 0; i < files_.size(); ++i) {
    if (starts_[i] < starts_[i + 1]) starts.push_back(starts_[i]);
  }
  if (starts.empty() || starts.front() != 0) starts.insert(starts.begin(), 0);
  return starts;
}

void IndexedShards::will_need(const std::vector<int64_t>& indices) const {
  std::vector<std::string> names;
  for (const int64_t index : indices) {
    const std::string& name = files_[position_of(index).shard];
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  store_->will_need(names);
}

}  // namespace tessera
