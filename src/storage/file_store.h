#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "storage/blob.h"

namespace tessera {

// What is known of a file before it is there, to tell a whole one from a part or another one.
struct FileSum {
  int64_t bytes = -1;                         // -1: not known
  std::map<std::string, std::string> hashes;  // by algorithm, in hex; "xxh64" -> "0123..."
};

// Files below a root that may be elsewhere: shards and their index. Thread-safe.
class FileStore {
 public:
  virtual ~FileStore() = default;

  // The file `name` below the root, of as many bytes as `sum` says. What lies elsewhere is fetched first, compared with the
  // hashes, and stays readable while the blob lives, also when the cache gives its place to another. Throws Error that names
  // the file and the cause.
  virtual Blob open(const std::string& name, const FileSum& sum = {}) = 0;

  // These are needed soon, in this order; where files lie elsewhere they are fetched meanwhile.
  virtual void will_need(const std::vector<std::string>& /*names*/) {}

  // Names of the files below the root whose names begin with `prefix`, sorted.
  virtual std::vector<std::string> list(const std::string& prefix) = 0;

  // The root as messages name it, without credentials.
  virtual std::string root() const = 0;
};

// Of files that lie elsewhere.
struct RemoteOptions {
  std::filesystem::path cache = {};                // folder; empty: cache_folder()/data
  int64_t cache_limit = int64_t{100'000'000'000};  // bytes of it
  int64_t timeout_s = 60;                          // for a connection, and without a kilobyte per second
  int64_t retries = 8;                             // after the first try, of what may be temporary
  int64_t parallel = 4;                            // files fetched ahead at the same time
};

// The files of a folder, or of what lies behind a URL: s3://, gs://, http(s)://, file:// (Note [Bucket settings],
// docs/storage.md).
std::shared_ptr<FileStore> open_file_store(const std::string& root, const RemoteOptions& options = {});

}  // namespace tessera
