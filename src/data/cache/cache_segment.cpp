#include "data/cache/cache_segment.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "storage/write_at.h"

namespace tessera {
namespace {

constexpr std::string_view kSamples = ".samples", kIndex = ".index";
constexpr uint64_t kIndexMagic = 0x3130584449525354, kEntryMagic = 0x31304C504D535354;  // "TSRIDX01", "TSSMPL01"
constexpr uint64_t kAlign = 64, kLargestSegment = uint64_t{1} << 32;

struct IndexHead {
  uint64_t magic, capacity, unused, check;
};
struct StoredRecord {
  SampleKey key;
  uint64_t offset, check;
};
struct EntryHead {
  uint64_t magic;
  SampleKey key;
  uint64_t tag;
  EntrySizes sizes;
  uint64_t hash;  // of the parts
  uint64_t check;
};
static_assert(sizeof(IndexHead) == 32 && sizeof(StoredRecord) == 32 && sizeof(EntryHead) == 72);

// Of all but the last eight bytes, which it is kept in.
template <class T>
uint64_t check_of(const T& value) {
  return XXH3_64bits(&value, sizeof(T) - sizeof(uint64_t));
}

uint64_t padded(uint64_t bytes) {
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

uint64_t sum(const EntrySizes& sizes) {
  constexpr uint64_t kTooMany = 4 * kLargestSegment;  // for any segment, whatever the sizes are
  uint64_t bytes = 0;
  for (const uint64_t size : sizes) {
    if (size > kLargestSegment) return kTooMany;
    bytes += size;
  }
  return bytes;
}

class Hash {
 public:
  Hash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(std::span<const uint8_t> bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

bool read_at(const Descriptor& file, std::span<uint8_t> to, uint64_t offset) {
  while (!to.empty()) {
    const ssize_t got = ::pread(file.get(), to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to = to.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

template <class T>
bool read_value(const Descriptor& file, T& value, uint64_t offset) {
  return read_at(file, {reinterpret_cast<uint8_t*>(&value), sizeof(T)}, offset);
}

bool write_bytes(const Descriptor& file, std::span<const uint8_t> content, uint64_t offset) {
  return put_all_at(file, static_cast<int64_t>(offset), content);
}

template <class T>
std::span<const uint8_t> plain_bytes(const T& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof(T)};
}

// A regular file, never through a link; for reading only where this user may do no more.
Descriptor open_plain(const fs::path& path) {
  Descriptor file(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) file = Descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat info {};
  if (!file.ok() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  return file;
}

uint64_t size_of(const Descriptor& file) {
  struct stat info {};
  return ::fstat(file.get(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

bool read_head(const Descriptor& index, uint64_t& capacity) {
  IndexHead head{};
  if (!index.ok() || !read_value(index, head, 0) || head.magic != kIndexMagic || head.check != check_of(head)) return false;
  capacity = head.capacity;
  return capacity <= kLargestSegment;
}

}  // namespace

std::optional<CacheSegment> CacheSegment::open(const fs::path& folder, const std::string& name) {
  CacheSegment segment;
  segment.name_ = name;
  segment.index_ = open_plain(folder / (name + std::string(kIndex)));
  if (!read_head(segment.index_, segment.capacity_)) return std::nullopt;
  segment.samples_ = open_plain(folder / (name + std::string(kSamples)));
  if (!segment.samples_.ok()) return std::nullopt;
  return segment;
}

CacheSegment CacheSegment::make(const fs::path& folder, const std::string& name, uint64_t capacity, Access access) {
  CacheSegment segment;
  segment.name_ = name;
  segment.capacity_ = capacity;
  const auto create = [&](std::string_view ending) {
    const fs::path path = folder / (name + std::string(ending));
    Descriptor file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, file_mode(access));
    TSR_CHECK(file.ok(), "cannot write {}: {}", path.string(), std::strerror(errno));
    return file;
  };
  segment.samples_ = create(kSamples);  // the index last: what has one is a segment
  segment.index_ = create(kIndex);
  IndexHead head{kIndexMagic, capacity, 0, 0};
  head.check = check_of(head);
  const bool done =
      ::flock(segment.samples_.get(), LOCK_EX | LOCK_NB) == 0 && write_bytes(segment.index_, plain_bytes(head), 0);
  TSR_CHECK(done, "cannot write {}: {}", (folder / name).string(), std::strerror(errno));
  segment.hold();
  return segment;
}

std::vector<IndexRecord> CacheSegment::new_records() {
  const uint64_t all = (std::max(size_of(index_), sizeof(IndexHead)) - sizeof(IndexHead)) / sizeof(StoredRecord);
  std::vector<IndexRecord> found;
  if (all <= records_ || all > kLargestSegment / kAlign) return found;
  std::vector<StoredRecord> stored(all - records_);
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(stored.data()), stored.size() * sizeof(StoredRecord));
  if (!read_at(index_, bytes, sizeof(IndexHead) + records_ * sizeof(StoredRecord))) return found;
  for (const StoredRecord& record : stored) {
    if (record.check != check_of(record)) break;  // in the making, or torn: looked at again next time
    found.push_back({record.key, record.offset});
    ++records_;
  }
  return found;
}

bool CacheSegment::read(const IndexRecord& record, const PlaceParts& place) const {
  EntryHead head{};
  if (!read_value(samples_, head, record.offset)) return false;
  if (head.magic != kEntryMagic || head.check != check_of(head) || !(head.key == record.key)) return false;
  const uint64_t bytes = sum(head.sizes);
  if (bytes > capacity_ || record.offset + sizeof(EntryHead) + bytes > size_of(samples_)) return false;
  const auto parts = place(head.tag, head.sizes);
  if (!parts) return false;
  std::array<iovec, kEntryParts> to{};
  for (size_t i = 0; i < kEntryParts; ++i) to[i] = {(*parts)[i].data(), (*parts)[i].size()};
  const uint64_t offset = record.offset + sizeof(EntryHead);
  const ssize_t got = ::preadv(samples_.get(), to.data(), kEntryParts, static_cast<off_t>(offset));
  if (got != static_cast<ssize_t>(bytes)) {  // interrupted, or more than the system reads at once
    uint64_t at = offset;
    for (const std::span<uint8_t> part : *parts) {
      if (!read_at(samples_, part, at)) return false;
      at += part.size();
    }
  }
  Hash hash;
  for (const std::span<uint8_t> part : *parts) hash.add(part);
  return hash.value() == head.hash;
}

bool CacheSegment::hold() {
  if (held_) return true;
  struct stat info {};
  if (!index_.ok() || (::flock(index_.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK)) return false;
  if (::fstat(index_.get(), &info) != 0 || info.st_nlink == 0) return false;
  std::ignore = ::futimens(index_.get(), nullptr);  // of another user's, only its owner may
  return held_ = true;
}

void CacheSegment::close() {
  index_ = Descriptor();
  samples_ = Descriptor();
  held_ = false;
}

void CacheSegment::resign() {
  ::flock(samples_.get(), LOCK_UN);
}

bool CacheSegment::become_writer(const EntrySizes& sizes) {
  struct stat info {};
  if (::fstat(samples_.get(), &info) != 0 || info.st_uid != ::geteuid() || info.st_nlink != 1) return false;
  if (::flock(samples_.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (find_end() && has_room(sizes) && hold()) return true;
  resign();
  return false;
}

// Cuts off what is behind the last whole record: it was never seen by anybody.
bool CacheSegment::find_end() {
  const uint64_t seen = records_;
  new_records();
  const uint64_t all = std::exchange(records_, seen);  // those that a reader has not taken yet stay for it
  end_ = 0;
  if (all > 0) {
    StoredRecord last{};
    EntryHead head{};
    if (!read_value(index_, last, sizeof(IndexHead) + (all - 1) * sizeof(StoredRecord))) return false;
    if (!read_value(samples_, head, last.offset) || head.check != check_of(head)) return false;
    end_ = padded(last.offset + sizeof(EntryHead) + sum(head.sizes));
  }
  return end_ <= capacity_ && ::ftruncate(samples_.get(), static_cast<off_t>(end_)) == 0 &&
         ::ftruncate(index_.get(), static_cast<off_t>(sizeof(IndexHead) + all * sizeof(StoredRecord))) == 0;
}

bool CacheSegment::has_room(const EntrySizes& sizes) const {
  return end_ + padded(sizeof(EntryHead) + sum(sizes)) <= capacity_;
}

bool CacheSegment::append(const SampleKey& key, uint64_t tag, const EntryParts& parts, IndexRecord& record) {
  EntryHead head{kEntryMagic, key, tag, {}, 0, 0};
  Hash hash;
  for (size_t i = 0; i < kEntryParts; ++i) {
    head.sizes[i] = parts[i].size();
    hash.add(parts[i]);
  }
  head.hash = hash.value();
  head.check = check_of(head);
  uint64_t at = end_;
  bool done = write_bytes(samples_, plain_bytes(head), at);
  at += sizeof(EntryHead);
  for (const std::span<const uint8_t> part : parts) {
    done = done && write_bytes(samples_, part, at);
    at += part.size();
  }
  StoredRecord stored{key, end_, 0};
  stored.check = check_of(stored);
  done = done && write_bytes(index_, plain_bytes(stored), sizeof(IndexHead) + records_ * sizeof(StoredRecord));
  if (!done) return false;
  record = {key, end_};
  end_ = padded(at);
  ++records_;
  return true;
}

std::vector<SegmentFiles> list_segments(const fs::path& folder) {
  std::vector<SegmentFiles> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != kIndex) continue;
    const Descriptor index = open_plain(entry->path());
    struct stat info {};
    SegmentFiles files{entry->path().stem().string(), 0, 0};
    if (!read_head(index, files.capacity) || ::fstat(index.get(), &info) != 0) continue;
    files.last_used_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
    found.push_back(files);
  }
  std::sort(found.begin(), found.end(), [](const SegmentFiles& a, const SegmentFiles& b) {
    return std::tie(a.last_used_ns, a.name) < std::tie(b.last_used_ns, b.name);
  });
  return found;
}

bool remove_segment(const fs::path& folder, const std::string& name) {
  const fs::path index_path = folder / (name + std::string(kIndex));
  const Descriptor index = open_plain(index_path);
  if (!index.ok() || ::flock(index.get(), LOCK_EX | LOCK_NB) != 0) return false;
  if (::unlink(index_path.c_str()) != 0) return false;
  return ::unlink((folder / (name + std::string(kSamples))).c_str()) == 0;
}

}  // namespace tessera
