#include "core/new_file.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <string_view>
#include <tuple>

#include "core/error.h"
#include "core/printable.h"

namespace tessera {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = ".tessera-", kSuffix = ".tmp";
constexpr size_t kDigits = 16;
constexpr int kTries = 100;

std::string reason() {
  return std::strerror(errno);
}

std::string random_digits() {
  uint64_t bits = 0;
  TSR_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits, "the system gives no random numbers: {}", reason());
  return fmt::format("{:0{}x}", bits, kDigits);
}

bool is_temporary(std::string_view name) {
  if (name.size() != kPrefix.size() + kDigits + kSuffix.size() || !name.starts_with(kPrefix) || !name.ends_with(kSuffix))
    return false;
  return name.substr(kPrefix.size(), kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Nobody writes to it any more. Where the file system has no locks, a day without a change says so.
bool is_abandoned(const Descriptor& file, const struct stat& info) {
  constexpr time_t kDay_s = 24 * 60 * 60;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  return errno != EWOULDBLOCK && std::time(nullptr) - info.st_mtime > kDay_s;
}

}  // namespace

NewFile::NewFile(fs::path target, Access access) : target_(std::move(target)) {
  const fs::path folder = folder_of(target_);
  for (int i = 0; i < kTries; ++i) {
    if (make(folder, access)) return;
  }
  fail("cannot write {}: no name for a temporary file could be had in its folder", printable(target_.string()));
}

NewFile::~NewFile() {
  if (file_.ok()) ::unlink(own_.c_str());
}

// False: another name is needed. A process that looks for leftovers may have come between the making and the lock.
bool NewFile::make(const fs::path& folder, Access access) {
  own_ = folder / fmt::format("{}{}{}", kPrefix, random_digits(), kSuffix);
  Descriptor file(own_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file_mode(access));
  if (!file.ok() && errno == EEXIST) return false;
  TSR_CHECK(file.ok(), "cannot write {}: {}", printable(target_.string()), reason());
  struct stat info {};
  const bool taken = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (taken || ::fstat(file.get(), &info) != 0 || info.st_nlink == 0) return false;
  file_ = std::move(file);
  return true;
}

void NewFile::write(std::span<const uint8_t> content) {
  TSR_CHECK(put_all(file_, content), "cannot write {} ({} bytes): {}", printable(target_.string()), content.size(), reason());
}

void NewFile::reserve(uint64_t bytes) {
  TSR_CHECK(::ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0, "cannot write {} ({} bytes): {}",
            printable(target_.string()), bytes, reason());
}

void NewFile::move_to_target() {
  struct stat old {};
  if (::lstat(target_.c_str(), &old) == 0 && S_ISREG(old.st_mode) && old.st_uid == ::geteuid())
    std::ignore = ::fchmod(file_.get(), old.st_mode & 0777U);  // where it cannot be, the new file's own serve
  const bool done = ::fsync(file_.get()) == 0 && ::rename(own_.c_str(), target_.c_str()) == 0;
  TSR_CHECK(done, "cannot write {}: {}", printable(target_.string()), reason());
  file_ = Descriptor();
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!is_temporary(path.filename().native())) continue;
    struct stat info {};
    const Descriptor file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (!file.ok() || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) continue;
    if (is_abandoned(file, info)) ::unlink(path.c_str());
  }
}

fs::path make_new_folder(const fs::path& parent, const std::string& prefix, Access access) {
  for (int i = 0; i < kTries; ++i) {
    fs::path folder = parent / (prefix + random_digits());
    if (::mkdir(folder.c_str(), folder_mode(access)) == 0) return folder;
    TSR_CHECK(errno == EEXIST, "cannot make the folder {}: {}", printable(folder.string()), reason());
  }
  fail("cannot make a folder in {}: no name for it could be had", printable(parent.string()));
}

Descriptor open_own_file(const fs::path& path, Access access) {
  {
    struct stat info {};
    Descriptor there(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
    const bool known = there.ok() && ::fstat(there.get(), &info) == 0;
    if (known && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() && info.st_nlink == 1) return there;
    if (there.ok() || errno != ENOENT) ::unlink(path.c_str());
  }
  return {path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file_mode(access)};
}

fs::path follow_links(fs::path path) {
  constexpr int kMostLinks = 40;
  for (int i = 0; i < kMostLinks; ++i) {
    struct stat link {
    }, folder{};
    if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return path;
    const bool ours = link.st_uid == ::geteuid() || link.st_uid == 0;
    const bool open_to_others = ::stat(folder_of(path).c_str(), &folder) != 0 || (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    TSR_CHECK(ours || !open_to_others,
              "cannot write {}: it is a link of another user (uid {}) in a folder where others may write, and what it leads to "
              "would be replaced; remove the link, or choose another place",
              printable(path.string()), link.st_uid);
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

}  // namespace tessera
