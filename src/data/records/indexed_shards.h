#pragma once
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/records/record_source.h"
#include "data/records/shard_index.h"
#include "storage/file_store.h"

namespace tessera {

// The samples of shards whose format has no index of its own: Note [Shard indices]. Some shards are held open, the last used
// ones; those that are compressed are held unpacked, in memory.
class IndexedShards : public RecordSource {
 public:
  // `files`: the shards in `store`, in order. Looks through those whose index is not kept. Throws Error where one cannot be
  // had or read, and where there are no samples at all.
  IndexedShards(std::shared_ptr<FileStore> store, std::vector<std::string> files, std::unique_ptr<const ShardFormat> format);

  int64_t size() const override { return starts_.back(); }
  std::string id(int64_t index) const override;
  EncodedSample read(int64_t index) const override;
  std::vector<int64_t> shard_starts() const override;
  void will_need(const std::vector<int64_t>& indices) const override;

 private:
  // The shard of a sample and its number in it.
  struct Position {
    size_t shard, record;
  };
  struct OpenShard {
    size_t shard;
    Blob bytes;
    bool unpacked;
  };

  Position position_of(int64_t index) const;
  std::string message_name(size_t shard) const { return store_->root() + "/" + files_[shard]; }
  ShardIdentity identity_of(size_t shard) const;
  Blob load(size_t shard, bool* unpacked) const;
  void check_unchanged(size_t shard, const Blob& bytes) const;
  Blob open(size_t shard) const;
  ShardIndex index_of(size_t shard) const;
  [[noreturn]] void fail_without_samples() const;
  void drop_repeated_ids();

  std::shared_ptr<FileStore> store_;
  std::vector<std::string> files_;
  std::unique_ptr<const ShardFormat> format_;
  std::vector<ShardIndex> indices_;
  std::vector<int64_t> starts_;  // of each shard, and the end

  mutable std::mutex mutex_;
  mutable std::condition_variable loaded_;
  mutable std::list<OpenShard> open_;       // the last used one first
  mutable std::vector<bool> being_loaded_;  // by a thread, for which others wait
};

}  // namespace tessera
