#pragma once
#include <xxhash.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/access.h"
#include "core/file_lock.h"
#include "core/new_file.h"
#include "storage/blob.h"

namespace tessera {

// Note [Cached objects]
// Files that lie elsewhere are kept in one folder for all processes, jobs and data sets of a host, one file for each:
// <key>.object, its content followed by a line of JSON (size, hash, the server's mark), the length of that line and a magic
// number. It is written as a file in the making (Note [Files in the making]) and moved to its place when it is whole, so what
// has that name is whole, whoever was killed; a disk that lost a part of it is found out by the hash. Who fetches a file holds
// <key>.lock: others wait for it and take the file. The time of a file's last change is that of its last use; those unused for
// longest go when room is needed. A file that is taken away stays readable for who has it mapped.

// A whole file of the cache.
struct CachedObject {
  Blob content;
  std::string mark;  // what the server called this version; empty: nothing
};

// Thread-safe; any number of processes may use one folder.
class ObjectCache {
 public:
  // limit: bytes of all files together. Makes the folder. Throws Error.
  ObjectCache(std::filesystem::path folder, int64_t limit);

  // The file's name in the cache. identity: of the place, name: in it.
  static std::string key_of(const std::string& identity, const std::string& name);

  // check: compares the content with its hash; who has a better one to compare with need not. A damaged file is removed, and
  // the log says so.
  std::optional<CachedObject> find(const std::string& key, bool check);
  bool holds(const std::string& key) const;

  void remove(const std::string& key);

  // For who fetches the object.
  FileLock lock(const std::string& key) const;

  // Removes what was unused for longest until `bytes` more have room, and calls `take` while nobody else does this. Waits while
  // others' downloads fill the cache. Throws Error where they can never have it. what: names the object in errors.
  template <class Take>
  void make_room(int64_t bytes, const std::string& what, Take take) {
    const auto held = room_for(bytes, what);
    take();
  }

  const std::filesystem::path& folder() const { return folder_; }
  int64_t limit() const { return limit_; }
  Access access() const { return access_; }
  std::filesystem::path path_of(const std::string& key) const;

 private:
  std::unique_ptr<FileLock> room_for(int64_t bytes, const std::string& what);
  bool evict(int64_t bytes, const std::string& what);

  std::filesystem::path folder_;
  int64_t limit_;
  Access access_;
};

// An object on its way into the cache. What is not finished leaves nothing.
class CacheDraft {
 public:
  // bytes: of the whole object; -1: not known.
  CacheDraft(ObjectCache& cache, const std::string& key, int64_t bytes, std::string what);

  // Throws Error where it becomes longer than was said, or than the cache.
  void write(std::span<const uint8_t> piece);
  int64_t written() const { return written_; }
  int64_t bytes() const { return bytes_; }

  // Puts it into its place.
  void finish(const std::string& mark);

 private:
  ObjectCache& cache_;
  std::string key_, what_;
  int64_t bytes_, written_ = 0;
  NewFile file_;
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash_;
};

}  // namespace tessera
