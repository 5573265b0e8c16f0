#include "storage/unpack_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"

namespace tessera {
namespace {

// Images hardly shrink in an archive and annotations tenfold: a hundredfold is a bomb.
constexpr uint64_t kUnpackFactor = 100, kUnpackAlways = 1 << 30;
constexpr size_t kLongestName = 4000, kDeepest = 64;

// What macOS puts beside the files of an archive.
bool is_of_another_system(const fs::path& name) {
  return std::any_of(name.begin(), name.end(), [](const fs::path& part) {
    return part == "__MACOSX" || part == ".DS_Store" || part.native().starts_with("._");
  });
}

}  // namespace

UnpackFolder::UnpackFolder(fs::path folder, std::string archive, uint64_t archive_bytes, const UnpackOptions& options)
    : root_(std::move(folder)),
      archive_(std::move(archive)),
      most_(std::min(options.max_bytes, std::max(kUnpackAlways, archive_bytes * kUnpackFactor))),
      strip_(options.strip) {
  make_folders(root_);
}

fs::path UnpackFolder::place_of(const std::string& name) const {
  const bool odd = name.empty() || name.size() > kLongestName || name.find('\0') != std::string::npos ||
                   name.find('\\') != std::string::npos;
  const fs::path path = fs::path(name).lexically_normal();
  const auto depth = std::distance(path.begin(), path.end());
  const bool leads_out = path.is_absolute() || fs::path(name).is_absolute() ||
                         std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  TSR_CHECK(!odd && !leads_out && depth <= static_cast<ptrdiff_t>(kDeepest),
            "{}: the entry '{}' would be written elsewhere than below the folder, or has no name that a file can have; the "
            "archive is not trusted",
            archive_, printable(name));
  if (is_of_another_system(path)) return {};
  if (strip_.empty()) return path;
  const fs::path below = path.lexically_relative(strip_);
  if (below.empty() || below == "." || *below.begin() == "..") return {};
  return below;
}

void UnpackFolder::make_folder(const fs::path& folder) {
  if (folder.empty() || folder == "." || !folders_.insert(folder.native()).second) return;
  make_folder(folder.parent_path());
  const fs::path path = root_ / folder;
  std::error_code error;
  fs::create_directory(path, error);
  TSR_CHECK(fs::is_directory(fs::symlink_status(path)), "cannot make {}: {}", printable(path.string()),
            error ? error.message() : "a file of that name is in the archive too");
}

void UnpackFolder::add_folder(const std::string& name) {
  fs::path place = place_of(name);
  if (!place.has_filename()) place = place.parent_path();  // "a/b/"
  make_folder(place);
}

bool UnpackFolder::begin_file(const std::string& name) {
  const fs::path place = place_of(name);
  if (place.empty()) return false;
  make_folder(place.parent_path());
  open_path_ = root_ / place;
  open_ = Descriptor(open_path_, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
  TSR_CHECK(open_.ok() || errno != EEXIST, "{} is damaged: it has two entries '{}'", archive_, printable(name));
  TSR_CHECK(open_.ok(), "cannot write {}: {}", printable(open_path_.string()), std::strerror(errno));
  ++done_.files;
  return true;
}

void UnpackFolder::write(std::span<const uint8_t> content) {
  done_.bytes += content.size();
  TSR_CHECK(done_.bytes <= most_,
            "{} unpacks to more than {} bytes, which is more than fits or than such files have; it was "
            "not unpacked",
            archive_, most_);
  TSR_CHECK(put_all(open_, content), "cannot write {}: {}", printable(open_path_.string()), std::strerror(errno));
}

void UnpackFolder::end_file() {
  open_ = Descriptor();
}

void UnpackFolder::refuse_link(const std::string& name) const {
  fail("{}: the entry '{}' is a link or a device; archives of data sets have none, it is not trusted", archive_,
       printable(name));
}

Unpacked UnpackFolder::finish() {
  const Descriptor folder(root_, O_RDONLY | O_DIRECTORY);
  TSR_CHECK(folder.ok() && ::syncfs(folder.get()) == 0, "cannot flush {} to the disk: {}", root_.string(),
            std::strerror(errno));
  return done_;
}

}  // namespace tessera
