#pragma once
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "storage/file_store.h"
#include "storage/object_cache.h"
#include "storage/object_service.h"

namespace tessera {

// Files behind a URL, through the cache of the host. A file that comes with hashes is asked for once, whoever fetched it; of
// others the server is asked once in a process whether they are still the same.
class RemoteStore : public FileStore {
 public:
  RemoteStore(std::shared_ptr<ObjectService> service, const RemoteOptions& options);
  ~RemoteStore() override;
  RemoteStore(const RemoteStore&) = delete;
  RemoteStore& operator=(const RemoteStore&) = delete;

  Blob open(const std::string& name, const FileSum& sum) override;
  void will_need(const std::vector<std::string>& names) override;
  std::vector<std::string> list(const std::string& prefix) override { return service_->list(prefix); }
  std::string root() const override { return service_->root(); }

 private:
  void work();
  bool may_fetch_ahead() const;
  CachedObject fetch(const std::string& name, const std::string& key, const std::string& mark);
  CachedObject fetch_locked(const std::string& name, const std::string& key, const std::string& mark);
  bool fetched_elsewhere(const std::string& key) const;
  int64_t fetch_ahead(const std::string& name);
  std::optional<Blob> current(const std::string& name, const std::string& key, const FileSum& sum, std::string& mark);
  std::string key_of(const std::string& name) const { return ObjectCache::key_of(identity_, name); }

  std::shared_ptr<ObjectService> service_;
  std::string identity_;
  ObjectCache cache_;
  int64_t parallel_;  // threads that fetch ahead, made when there is something to fetch

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> wanted_;                                     // to be fetched ahead, in order
  std::map<std::string, std::shared_future<CachedObject>> under_way_;  // of this process
  std::map<std::string, int64_t> ahead_;                               // bytes of what was fetched ahead and not opened yet
  int64_t ahead_bytes_ = 0, largest_ = 0;                              // the latter: of those so far
  int64_t coming_ = 0;                                                 // how many of them are under way
  std::map<std::string, std::string> fresh_;  // marks of versions that this process knows to be the server's
  bool stop_ = false;
  std::vector<std::thread> workers_;  // the last member: they use the others
};

}  // namespace tessera
