#pragma once
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "data/records/conversion_mark.h"

namespace tessera {

struct WrittenFile {
  std::string name;  // below the folder of its split
  uint64_t bytes = 0;
  std::string check;  // xxh3_64
};

// Samples that were written together and are on the disk.
struct WrittenShard {
  std::string split;
  int64_t number = 0;  // in the split
  int64_t first = 0;   // sample
  int64_t count = 0;
  std::vector<uint64_t> keys;  // content_key of each
  std::vector<WrittenFile> files;
  nlohmann::json about;  // what the format says of it in the end
};

// Whether `folder` holds the whole of a conversion with this key: the mark that `Journal::finish` leaves says so.
bool is_converted(const std::filesystem::path& folder, const std::string& key);

// Throws Error where `folder` holds files and neither a journal nor a mark: they are somebody else's.
void refuse_foreign_files(const std::filesystem::path& folder);

// What a conversion has done so far, in a hidden file of the folder that it writes, a line for each shard; a line is added when
// the shard's files are flushed to the disk. A line that was cut by a crash counts as none.
class Journal {
 public:
  // Opens the journal in `folder`, or begins one. `key`: of the source and all that decides what is written. Throws Error where
  // the folder holds a conversion of something else, or files and no journal.
  Journal(const std::filesystem::path& folder, const std::string& key);

  const std::vector<WrittenShard>& found() const { return found_; }

  // Thread-safe.
  void add(const WrittenShard& shard);

  // The conversion is whole: in the place of the journal there is a mark from now on.
  void finish();

 private:
  bool read();

  std::filesystem::path path_;
  std::string key_;
  std::vector<WrittenShard> found_;
  std::mutex mutex_;
  Descriptor file_;
};

}  // namespace tessera
