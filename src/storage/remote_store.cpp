#include "storage/remote_store.h"

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/start_threads.h"
#include "storage/cache_folder.h"
#include "storage/content_hash.h"
#include "storage/object_fetch.h"

namespace tessera {
namespace {

constexpr int kTriesOfOtherContent = 3;  // that is whole, but not what was expected

bool has_known_hash(const FileSum& sum) {
  return std::any_of(sum.hashes.begin(), sum.hashes.end(), [](const auto& entry) { return is_hash_name(entry.first); });
}

// The quickest of several hashes: they say the same.
FileSum with_one_hash(const FileSum& sum) {
  FileSum one{.bytes = sum.bytes, .hashes = {}};
  for (const auto& [name, hash] : sum.hashes) {
    if (is_hash_name(name) && (one.hashes.empty() || name.starts_with("xxh"))) one.hashes = {{name, hash}};
  }
  return one;
}

// "" if it is what was expected.
std::string difference(const std::string& what, const Blob& content, const FileSum& sum) {
  if (sum.bytes >= 0 && static_cast<int64_t>(content.size()) != sum.bytes)
    return fmt::format("{} has {} bytes, expected {}", what, content.size(), sum.bytes);
  try {
    check_hashes(what, content.bytes, sum.hashes);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

fs::path folder_of_cache(const RemoteOptions& options) {
  return options.cache.empty() ? cache_folder() / "data" : options.cache;
}

}  // namespace

RemoteStore::RemoteStore(std::shared_ptr<ObjectService> service, const RemoteOptions& options)
    : service_(std::move(service)),
      identity_(service_->identity()),
      cache_(folder_of_cache(options), options.cache_limit),
      parallel_(options.parallel) {}

RemoteStore::~RemoteStore() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  service_->client().cancel();
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

Blob RemoteStore::open(const std::string& name, const FileSum& sum) {
  check_file_name(name, root());
  const std::string key = key_of(name), what = printable(service_->name_of(name));
  {
    const std::lock_guard lock(mutex_);
    std::erase(wanted_, name);
    if (const auto found = ahead_.find(name); found != ahead_.end()) {
      ahead_bytes_ -= found->second;
      ahead_.erase(found);
      changed_.notify_all();
    }
  }
  std::string mark;
  for (int tries = 1;; ++tries) {
    if (auto content = current(name, key, sum, mark)) return *std::move(content);
    const CachedObject fetched = fetch(name, key, mark);
    const std::string wrong = difference(what, fetched.content, sum);
    if (wrong.empty()) return fetched.content;
    cache_.remove(key);
    mark.clear();
    TSR_CHECK(tries < kTriesOfOtherContent, "{} (fetched {} times)", wrong, tries);
    log_warn("{}; it is fetched again", wrong);
  }
}

// The cached copy where it is known to be what is wanted. mark: of one of which only the server knows whether it is.
std::optional<Blob> RemoteStore::current(const std::string& name, const std::string& key, const FileSum& sum,
                                         std::string& mark) {
  const auto cached = cache_.find(key, /*check=*/!has_known_hash(sum));
  if (!cached) return std::nullopt;
  const bool other_size = sum.bytes >= 0 && static_cast<int64_t>(cached->content.size()) != sum.bytes;
  if (has_known_hash(sum) || other_size) {
    if (difference(name, cached->content, with_one_hash(sum)).empty()) return cached->content;
    cache_.remove(key);  // of another version of the data set
    return std::nullopt;
  }
  mark = cached->mark;
  const std::lock_guard lock(mutex_);
  const auto fresh = fresh_.find(name);
  return fresh != fresh_.end() && fresh->second == mark ? std::optional(cached->content) : std::nullopt;
}

// One thread of this process fetches, others wait for it.
CachedObject RemoteStore::fetch(const std::string& name, const std::string& key, const std::string& mark) {
  std::promise<CachedObject> done;
  std::shared_future<CachedObject> result;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    auto& entry = under_way_[name];
    first = !entry.valid();
    if (first) entry = done.get_future().share();
    result = entry;
  }
  if (!first) return result.get();
  try {
    done.set_value(fetch_locked(name, key, mark));
  } catch (...) {
    done.set_exception(std::current_exception());
  }
  {
    const std::lock_guard lock(mutex_);
    under_way_.erase(name);
  }
  return result.get();
}

// One process of the host fetches, others wait for it.
CachedObject RemoteStore::fetch_locked(const std::string& name, const std::string& key, const std::string& mark) {
  FileLock lock = cache_.lock(key);
  lock.wait();
  try {
    auto cached = cache_.find(key, /*check=*/false);
    const bool by_another = cached && cached->mark != mark;  // while we waited
    if (!by_another && fetch_object(*service_, name, cached ? mark : "", cache_, key))
      cached = cache_.find(key, /*check=*/false);
    TSR_CHECK(cached, "{} does not stay in the cache {}; set data.remote.cache_limit higher", service_->name_of(name),
              cache_.folder().string());
    lock.remove();
    const std::lock_guard guard(mutex_);
    fresh_[name] = cached->mark;
    return *cached;
  } catch (...) {
    lock.remove();
    throw;
  }
}

void RemoteStore::will_need(const std::vector<std::string>& names) {
  {
    const std::lock_guard lock(mutex_);
    start_threads(workers_, parallel_, [this] { work(); });
    for (const std::string& name : names) {
      const bool known = ahead_.count(name) > 0 || under_way_.count(name) > 0 ||
                         std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
      if (!known) wanted_.push_back(name);
    }
  }
  changed_.notify_all();
}

// What was fetched ahead must not push itself out of the cache before it is used; other ranks fetch ahead too.
bool RemoteStore::may_fetch_ahead() const {
  constexpr int64_t kShare = 4;
  if (wanted_.empty()) return false;
  if (ahead_.empty()) return true;
  const bool size_known = largest_ > 0;
  return size_known && ahead_bytes_ + (coming_ + 1) * largest_ <= cache_.limit() / kShare;
}

void RemoteStore::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || may_fetch_ahead(); });
    if (stop_) return;
    const std::string name = wanted_.front();
    wanted_.pop_front();
    ahead_[name] = 0;
    ++coming_;
    lock.unlock();
    const int64_t bytes = fetch_ahead(name);
    lock.lock();
    --coming_;
    largest_ = std::max(largest_, bytes);
    if (const auto found = ahead_.find(name); found != ahead_.end()) {  // else it is open already
      found->second = bytes;
      ahead_bytes_ += bytes;
      if (bytes == 0) ahead_.erase(found);
    }
    changed_.notify_all();
  }
}

// Whether another process has the file's lock.
bool RemoteStore::fetched_elsewhere(const std::string& key) const {
  FileLock lock = cache_.lock(key);
  const bool ours = lock.try_lock();
  if (ours) lock.remove();
  return !ours;
}

// The object's bytes; 0 where it is not here. Whatever goes wrong is told to who opens the file.
int64_t RemoteStore::fetch_ahead(const std::string& name) {
  try {
    check_file_name(name, root());
    const std::string key = key_of(name);
    if (!cache_.holds(key)) {
      if (fetched_elsewhere(key)) return 0;  // the next file is worth more than waiting
      fetch(name, key, "");
    }
    std::error_code error;
    const auto bytes = fs::file_size(cache_.path_of(key), error);
    return error ? 0 : static_cast<int64_t>(bytes);
  } catch (const std::exception& e) {
    log_debug("ahead of its use: {}", e.what());
    return 0;
  }
}

}  // namespace tessera
