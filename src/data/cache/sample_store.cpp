#include "data/cache/sample_store.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/log.h"

namespace tessera {
namespace {

constexpr uint64_t kLargestCapacity = uint64_t{4} << 30, kSmallestSegment = 1 << 20, kSegments = 64, kUnit = 64;
// What is left of the disk for others, checkpoints before all.
constexpr uint64_t kLeftOnDisk = uint64_t{1} << 30;
constexpr auto kRefreshEvery = std::chrono::seconds(1);
constexpr const char* kLockName = "room.lock";

// Many enough to give away one by one, and few enough to have all of them open.
uint64_t segment_bytes(uint64_t limit) {
  return std::min(limit, std::clamp(limit / kSegments, kSmallestSegment, kLargestCapacity)) / kUnit * kUnit;
}

std::string new_name() {
  std::random_device bits;
  return fmt::format("{:08x}{:08x}", bits(), bits());
}

}  // namespace

SampleStore::SampleStore(fs::path folder, uint64_t limit, int64_t grace)
    : folder_(std::move(folder)),
      limit_(limit),
      segment_bytes_(segment_bytes(limit)),
      grace_(grace),
      access_(access_at(folder_)) {
  make_folders(folder_, access_);
  refresh();
}

void SampleStore::take_records(uint32_t segment) {
  for (const IndexRecord& record : segments_[segment].new_records()) {
    if (record.offset % kUnit == 0) places_[record.key.low] = {segment, static_cast<uint32_t>(record.offset / kUnit)};
  }
}

void SampleStore::refresh() {
  std::vector<bool> listed(segments_.size(), false);
  for (const SegmentFiles& files : list_segments(folder_)) {
    const auto known = by_name_.find(files.name);
    if (known != by_name_.end()) {
      listed[known->second] = true;
      if (writer_ != known->second) take_records(known->second);
      continue;
    }
    if (std::optional<CacheSegment> segment = CacheSegment::open(folder_, files.name)) {
      const auto number = static_cast<uint32_t>(segments_.size());
      segments_.push_back(*std::move(segment));
      by_name_.emplace(files.name, number);
      take_records(number);
    }
  }
  for (size_t number = 0; number < listed.size(); ++number) {
    if (!listed[number] && !segments_[number].is_held()) segments_[number].close();
  }
  refreshed_ = std::chrono::steady_clock::now();
}

std::optional<SampleStore::Place> SampleStore::look_up(const SampleKey& key) {
  {
    const std::shared_lock lock(mutex_);
    const auto found = places_.find(key.low);
    if (found != places_.end()) return found->second;
    if (std::chrono::steady_clock::now() - refreshed_ < kRefreshEvery) return std::nullopt;
  }
  const std::unique_lock lock(mutex_);
  if (std::chrono::steady_clock::now() - refreshed_ >= kRefreshEvery) refresh();
  const auto found = places_.find(key.low);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

// Null where the segment is being removed.
CacheSegment* SampleStore::hold(uint32_t number) {
  {
    const std::shared_lock lock(mutex_);
    if (segments_[number].is_held()) return &segments_[number];
  }
  const std::unique_lock lock(mutex_);
  return segments_[number].hold() ? &segments_[number] : nullptr;
}

bool SampleStore::find(const SampleKey& key, const PlaceParts& place) {
  ++look_ups_;
  const std::optional<Place> at = look_up(key);
  if (!at) return false;
  CacheSegment* segment = hold(at->segment);
  if (segment == nullptr) {
    const std::unique_lock lock(mutex_);
    places_.erase(key.low);
    return false;
  }
  if (segment->read({key, uint64_t{at->offset} * kUnit}, place)) {
    ++hits_;
    return true;
  }
  ++damaged_;
  if (!said_damaged_.exchange(true))
    log_warn("the sample cache {} holds damaged entries, first in {}; they are read from their source again", folder_.string(),
             segment->name());
  const std::unique_lock lock(mutex_);
  const auto known = places_.find(key.low);
  if (known != places_.end() && known->second.segment == at->segment && known->second.offset == at->offset)
    places_.erase(known);
  return false;
}

void SampleStore::add(const SampleKey& key, uint64_t tag, const EntryParts& parts) {
  if (full_) return;
  EntrySizes sizes{};
  for (size_t i = 0; i < kEntryParts; ++i) sizes[i] = parts[i].size();
  const std::unique_lock lock(mutex_);
  if (full_ || places_.contains(key.low)) return;  // another thread was faster
  try {
    if (!get_writer(sizes)) return;
  } catch (const Error& error) {
    return give_up(error.what());
  }
  IndexRecord record;
  if (!segments_[*writer_].append(key, tag, parts, record)) return give_up(std::strerror(errno));
  places_[key.low] = {*writer_, static_cast<uint32_t>(record.offset / kUnit)};
}

void SampleStore::give_up(const std::string& why) {
  full_ = true;
  log_warn("the sample cache {} keeps nothing more: {}", folder_.string(), why);
}

bool SampleStore::get_writer(const EntrySizes& sizes) {
  if (writer_ && segments_[*writer_].has_room(sizes)) return true;
  uint64_t bytes = 4096;
  for (const uint64_t size : sizes) bytes += size;
  if (bytes > segment_bytes_) {
    static std::atomic<bool> said = false;
    if (!said.exchange(true))
      log_info("samples of more than {} MB are not cached; a larger data.cache_limit has larger segments",
               segment_bytes_ >> 20);
    return false;
  }
  FileLock room(folder_ / kLockName, "choose another data.cache_dir", access_);
  if (!room.try_lock()) return false;  // this sample then, another time: nobody should have to wait for others here
  if (take_over(sizes)) return true;
  if (!make_room(segment_bytes_)) {
    full_ = true;
    log_info("the sample cache {} is full ({:.3g} GB); other samples are read from their source, data.cache_limit allows more",
             folder_.string(), static_cast<double>(limit_) * 1e-9);
    return false;
  }
  const std::string name = new_name();
  const auto number = static_cast<uint32_t>(segments_.size());
  segments_.push_back(CacheSegment::make(folder_, name, segment_bytes_, access_));
  by_name_.emplace(name, number);
  writer_ = number;
  return true;
}

// One that nobody writes to and that has room.
bool SampleStore::take_over(const EntrySizes& sizes) {
  if (writer_) segments_[*std::exchange(writer_, std::nullopt)].resign();
  refresh();
  for (uint32_t number = 0; number < segments_.size(); ++number) {
    CacheSegment& segment = segments_[number];
    if (!segment.become_writer(sizes)) continue;
    take_records(number);
    writer_ = number;
    return true;
  }
  return false;
}

bool SampleStore::make_room(uint64_t bytes) {
  std::error_code error;
  const auto space = fs::space(folder_, error);
  if (!error && space.available < kLeftOnDisk + bytes) return false;
  uint64_t held = 0;
  const std::vector<SegmentFiles> all = list_segments(folder_);
  for (const SegmentFiles& files : all) held += files.capacity;
  if (held + bytes <= limit_) return true;
  if (look_ups_ < grace_) return false;
  for (const SegmentFiles& files : all) {
    if (!remove_segment(folder_, files.name)) continue;
    held -= files.capacity;
    if (held + bytes <= limit_) return true;
  }
  return false;
}

}  // namespace tessera
