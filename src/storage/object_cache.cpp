#include "storage/object_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "storage/sha256.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr std::string_view kCacheMagic = "TSROBJ01", kEnding = ".object";
constexpr size_t kTail = sizeof(uint64_t) + kCacheMagic.size();
constexpr size_t kMostFacts = 4096;
constexpr int64_t kMostTrailer = kMostFacts + kTail;
constexpr const char* kAdvice = "set data.remote.cache to a folder of yours";

std::string hex(uint64_t value) {
  return fmt::format("{:016x}", value);
}

// The content without what follows it, and what that says. Throws Error.
std::pair<Blob, json> opened(const fs::path& path) {
  const Blob all = map_file(path);
  TSR_CHECK(all.size() >= kTail &&
                std::memcmp(all.bytes.data() + all.size() - kCacheMagic.size(), kCacheMagic.data(), kCacheMagic.size()) == 0,
            "it is no such file");
  uint64_t length = 0;
  std::memcpy(&length, all.bytes.data() + all.size() - kTail, sizeof length);
  TSR_CHECK(length <= kMostFacts && length + kTail <= all.size(), "its end is damaged");
  const size_t bytes = all.size() - kTail - length;
  const char* text = reinterpret_cast<const char*>(all.bytes.data()) + bytes;
  json facts = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  const bool fine = facts.is_object() && facts.value("bytes", json()) == bytes && facts.value("xxh3", json()).is_string() &&
                    facts.value("mark", json()).is_string();
  TSR_CHECK(fine, "its end is damaged");
  return {all.part(0, bytes), std::move(facts)};
}

struct Entry {
  fs::path path;
  int64_t bytes = 0;
  timespec used{};
  bool draft = false;
};

std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool draft = name.ends_with(".tmp");
    struct stat info {};
    if ((!draft && !name.ends_with(kEnding)) || ::lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    entries.push_back({at->path(), info.st_size, info.st_mtim, draft});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.path) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.path);
  });
  return entries;
}

double gigabytes(int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

}  // namespace

ObjectCache::ObjectCache(fs::path folder, int64_t limit)
    : folder_(std::move(folder)), limit_(limit), access_(access_at(folder_)) {
  const std::string why = why_not_writable(folder_, access_);
  TSR_CHECK(why.empty(), "the cache for data from elsewhere cannot be written: {}; {}", why, kAdvice);
  remove_leftovers(folder_);
}

std::string ObjectCache::key_of(const std::string& identity, const std::string& name) {
  constexpr size_t kDigits = 40;
  return sha256_of(identity + "\n" + name).substr(0, kDigits);
}

fs::path ObjectCache::path_of(const std::string& key) const {
  return folder_ / (key + std::string(kEnding));
}

bool ObjectCache::holds(const std::string& key) const {
  std::error_code error;
  return fs::exists(path_of(key), error);
}

std::optional<CachedObject> ObjectCache::find(const std::string& key, bool check) {
  const fs::path path = path_of(key);
  if (!holds(key)) return std::nullopt;
  try {
    auto [content, facts] = opened(path);
    TSR_CHECK(!check || facts["xxh3"] == hex(XXH3_64bits(content.bytes.data(), content.size())), "its content has changed");
    // Another user's file says when it was used only where its permissions let us.
    std::ignore = ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
    return CachedObject{content, facts["mark"]};
  } catch (const Error& e) {
    if (!holds(key)) return std::nullopt;  // it went meanwhile, to make room
    log_warn("{} in the cache is damaged ({}); it is fetched again", path.filename().string(), e.what());
    remove(key);
    return std::nullopt;
  }
}

void ObjectCache::remove(const std::string& key) {
  std::error_code error;
  fs::remove(path_of(key), error);
}

FileLock ObjectCache::lock(const std::string& key) const {
  return {folder_ / (key + ".lock"), kAdvice, access_};
}

std::unique_ptr<FileLock> ObjectCache::room_for(int64_t bytes, const std::string& what) {
  using namespace std::chrono_literals;
  constexpr std::chrono::milliseconds kPatience = 60s, kLook = 50ms;
  TSR_CHECK(bytes <= limit_, "{} has {:.3g} GB and data.remote.cache_limit is {:.3g} GB; set it higher", what, gigabytes(bytes),
            gigabytes(limit_));
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    auto lock = std::make_unique<FileLock>(folder_ / ".lock", kAdvice, access_);
    lock->wait();
    if (evict(bytes, what)) return lock;
    if (std::chrono::steady_clock::now() - begin > kPatience) {
      log_warn("the cache {} is full of downloads of other processes that do not end; data.remote.cache_limit is exceeded",
               folder_.string());
      return lock;
    }
    lock.reset();
    remove_leftovers(folder_);
    std::this_thread::sleep_for(kLook);
  }
}

// False: there is room once downloads of others have ended.
bool ObjectCache::evict(int64_t bytes, const std::string& what) {
  std::vector<Entry> entries = entries_of(folder_);
  int64_t held = 0, kept = 0;
  for (const Entry& entry : entries) held += entry.bytes;
  const auto free_on_disk = [&] {
    std::error_code error;
    const auto space = fs::space(folder_, error);
    return error ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(space.available);
  };
  // A draft of others takes its place on the disk as it grows; what is not written yet is not to be given away.
  for (const Entry& entry : entries) {
    if (held + bytes <= limit_ && free_on_disk() >= bytes) return true;
    std::error_code error;
    if (entry.draft) {
      kept += entry.bytes;
    } else if (fs::remove(entry.path, error)) {
      held -= entry.bytes;
    }
  }
  if (held + bytes > limit_) return kept == 0;  // else others' files are left, which only they can remove
  TSR_CHECK(free_on_disk() >= bytes, "the disk of {} has {:.3g} GB left and {} has {:.3g} GB; free space, or {}",
            folder_.string(), gigabytes(free_on_disk()), what, gigabytes(bytes), kAdvice);
  return true;
}

CacheDraft::CacheDraft(ObjectCache& cache, const std::string& key, int64_t bytes, std::string what)
    : cache_(cache),
      key_(key),
      what_(std::move(what)),
      bytes_(bytes),
      file_(cache.path_of(key), cache.access()),
      hash_(XXH3_createState(), XXH3_freeState) {
  XXH3_64bits_reset(hash_.get());
  // The file has its full length from the beginning, so that others see what room it takes.
  cache_.make_room(bytes < 0 ? 0 : bytes + kMostTrailer, what_, [&] {
    if (bytes_ > 0) file_.reserve(static_cast<uint64_t>(bytes_));
  });
}

void CacheDraft::write(std::span<const uint8_t> piece) {
  const int64_t after = written_ + static_cast<int64_t>(piece.size());
  TSR_CHECK(bytes_ < 0 || after <= bytes_, "{}: more than the {} bytes came that it has", what_, bytes_);
  TSR_CHECK(after <= cache_.limit(), "{} has more than {:.3g} GB, which is data.remote.cache_limit; set it higher", what_,
            gigabytes(cache_.limit()));
  file_.write(piece);
  XXH3_64bits_update(hash_.get(), piece.data(), piece.size());
  written_ = after;
}

void CacheDraft::finish(const std::string& mark) {
  constexpr size_t kShown = 512;
  const json facts{{"bytes", written_},
                   {"mark", mark},
                   {"of", printable(std::string_view(what_).substr(0, kShown))},
                   {"xxh3", hex(XXH3_64bits_digest(hash_.get()))}};
  std::string trailer = facts.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  TSR_CHECK(trailer.size() <= kMostFacts, "{}: the server's mark of it has {} bytes", what_, mark.size());
  const uint64_t length = trailer.size();
  trailer.append(reinterpret_cast<const char*>(&length), sizeof length);
  trailer += kCacheMagic;
  file_.write(std::span(reinterpret_cast<const uint8_t*>(trailer.data()), trailer.size()));
  file_.move_to_target();
}

}  // namespace tessera
