#include "storage/part_list.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "core/new_file.h"

namespace tessera {
namespace {

constexpr uint64_t kLargestList = 64 << 20;
constexpr size_t kDigits = 8;
constexpr int64_t kMostFileParts = 5'000'000;

}  // namespace

// The first line says of which file; each further one is the number of a part in eight digits and a dot, so that a line that
// was not written whole is none.
PartList::PartList(const fs::path& path, const std::string& mark, int64_t total, int64_t part_bytes, Access access)
    : total_(total), part_bytes_(part_bytes), state_(static_cast<size_t>((total + part_bytes - 1) / part_bytes)) {
  TSR_CHECK(count() < kMostFileParts, "a file of {} bytes has too many parts of {} bytes", total, part_bytes);
  const std::string head = fmt::format("{} {} {}\n", total, part_bytes, mark);
  const bool known = read(path, head);
  file_ = open_own_file(path, access);
  TSR_CHECK(file_.ok() && (known ? ::lseek(file_.get(), 0, SEEK_END) >= 0 : ::ftruncate(file_.get(), 0) == 0),
            "cannot write {}: {}", path.string(), std::strerror(errno));
  append(known ? "\n" : head);
}

bool PartList::read(const fs::path& path, const std::string& head) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return false;
  const std::vector<uint8_t> bytes = read_bytes(path, kLargestList);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(head)) return false;
  for (size_t begin = head.size(), end; (end = text.find('\n', begin)) != std::string_view::npos; begin = end + 1) {
    if (end - begin != kDigits + 1 || text[end - 1] != '.') continue;
    int64_t part = -1;
    std::from_chars(text.data() + begin, text.data() + end - 1, part);
    if (part >= 0 && part < count()) state_[static_cast<size_t>(part)] = State::kThere;
  }
  return true;
}

int64_t PartList::bytes_there() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (int64_t part = 0; part < count(); ++part) {
    if (state_[static_cast<size_t>(part)] == State::kThere) bytes += end_of(part) - begin_of(part);
  }
  return bytes;
}

std::optional<int64_t> PartList::take() {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(state_.begin(), state_.end(), State::kMissing);
  if (found == state_.end()) return std::nullopt;
  *found = State::kTaken;
  return found - state_.begin();
}

void PartList::give_back(int64_t part) {
  const std::lock_guard lock(mutex_);
  state_[static_cast<size_t>(part)] = State::kMissing;
}

void PartList::note(int64_t part) {
  const std::lock_guard lock(mutex_);
  append(fmt::format("{:0{}}.\n", part, kDigits));
  state_[static_cast<size_t>(part)] = State::kThere;
}

void PartList::append(const std::string& text) {
  TSR_CHECK(put_all(file_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}), "cannot note a finished part: {}",
            std::strerror(errno));
}

}  // namespace tessera
