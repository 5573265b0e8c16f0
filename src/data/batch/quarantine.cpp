#include "data/batch/quarantine.h"

#include <algorithm>

#include "core/printable.h"

namespace tessera {

void Quarantine::add(BadSampleRecord record) {
  const std::lock_guard lock(mutex_);
  const int64_t index = record.index;
  if (!records_.emplace(index, record).second) return;
  fresh_.push_back(std::move(record));
  const auto bad = static_cast<int64_t>(records_.size());
  const auto allowed = static_cast<int64_t>(max_share_ * static_cast<double>(size_));
  if (bad <= std::max<int64_t>(allowed, max_share_ > 0 ? 1 : 0)) return;
  std::string list;
  std::vector<const BadSampleRecord*> sorted;
  for (const auto& entry : records_) sorted.push_back(&entry.second);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->index < b->index; });
  for (const auto* entry : sorted) list += "\n  " + printable(entry->id) + ": " + printable(entry->reason);
  fail(
      "{} of {} samples are unusable, more than data.max_bad_share={} allows; repair or remove them (`tessera data check` "
      "finds all), or raise the share:{}",
      bad, size_, max_share_, list);
}

bool Quarantine::contains(int64_t index) const {
  const std::lock_guard lock(mutex_);
  return records_.count(index) > 0;
}

int64_t Quarantine::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(records_.size());
}

std::vector<BadSampleRecord> Quarantine::take_new() {
  const std::lock_guard lock(mutex_);
  std::sort(fresh_.begin(), fresh_.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  return std::exchange(fresh_, {});
}

}  // namespace tessera
