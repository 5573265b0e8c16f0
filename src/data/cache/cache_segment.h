#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/access.h"
#include "core/descriptor.h"

namespace tessera {

// Note [Sample cache]
// The cache is a folder of segments, each two files that only grow: NAME.samples, entries one after another, and NAME.index,
// one record of fixed size for each entry, written after it. An entry carries its own length and XXH3, a record its own
// checksum, so what a killed process wrote in part is never taken for an entry: a record that is not whole is not seen, and an
// entry whose hash does not match is read from its source again. One process at a time writes to a segment (it holds a lock on
// NAME.samples), any number read; processes, jobs and users share a folder by this alone. A process that needs room takes over
// a segment that nobody writes to, behind its last whole record, or makes one. Each counts by its capacity, whatever it holds,
// so the folder never grows beyond the limit, however many write. Whoever uses a segment holds a shared lock on NAME.index, and
// renews its time; whole segments that nobody holds go, those unused for longest first, when room is needed. Entries are read
// with pread, not mapped: the system's cache of the files is the shared memory of all processes either way, one copy is made
// into memory that the sample keeps, a rank's own memory does not grow with the cache, and a file that another process cut
// short is a missing entry instead of a signal that ends the run.

struct SampleKey {
  uint64_t high = 0, low = 0;
  friend bool operator==(const SampleKey&, const SampleKey&) = default;
};

// An entry is up to three runs of bytes, and a number that says what they are.
constexpr size_t kEntryParts = 3;
using EntryParts = std::array<std::span<const uint8_t>, kEntryParts>;
using EntrySizes = std::array<uint64_t, kEntryParts>;

// Where an entry's parts go, of these sizes; nothing where it cannot be one.
using PlaceParts =
    std::function<std::optional<std::array<std::span<uint8_t>, kEntryParts>>(uint64_t tag, const EntrySizes& sizes)>;

struct IndexRecord {
  SampleKey key;
  uint64_t offset = 0;
};

// Not thread-safe but for `read`.
class CacheSegment {
 public:
  // Opens NAME.samples and NAME.index below `folder`; nothing where they are no segment of this format, or gone.
  static std::optional<CacheSegment> open(const std::filesystem::path& folder, const std::string& name);
  // Makes one. Throws Error.
  static CacheSegment make(const std::filesystem::path& folder, const std::string& name, uint64_t capacity, Access access);

  const std::string& name() const { return name_; }
  uint64_t capacity() const { return capacity_; }

  // The whole records behind those of the last call.
  std::vector<IndexRecord> new_records();

  // False: damaged, of another key, or it is no longer there.
  bool read(const IndexRecord& record, const PlaceParts& place) const;

  // To be called first by who uses what is in it; false: it is being removed, or is.
  bool hold();
  bool is_held() const { return held_; }

  // It is no longer in its folder: gives its room on the disk back.
  void close();

  // Becomes the writer, behind the last whole record; false where another process is, it is not this user's, or has no room for
  // an entry of these sizes.
  bool become_writer(const EntrySizes& sizes);
  void resign();
  bool has_room(const EntrySizes& sizes) const;
  // Only for the writer. False: errno says why; nothing is seen of it then.
  bool append(const SampleKey& key, uint64_t tag, const EntryParts& parts, IndexRecord& record);

 private:
  CacheSegment() = default;
  bool find_end();

  std::string name_;
  Descriptor samples_, index_;
  uint64_t capacity_ = 0;
  uint64_t records_ = 0;  // whole ones seen
  uint64_t end_ = 0;      // of the samples, for the writer
  bool held_ = false;
};

// What a folder holds, for who looks for room.
struct SegmentFiles {
  std::string name;
  uint64_t capacity = 0;
  int64_t last_used_ns = 0;
};
std::vector<SegmentFiles> list_segments(const std::filesystem::path& folder);

// Removes a segment that nobody uses. False: somebody does, or it is not ours to remove.
bool remove_segment(const std::filesystem::path& folder, const std::string& name);

}  // namespace tessera
