#include "core/files.h"

#include <dirent.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/new_file.h"
#include "core/printable.h"

namespace tessera {
namespace {

std::string reason() {
  return std::strerror(errno);
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "folder";
  if (S_ISFIFO(mode)) return "pipe";
  return S_ISSOCK(mode) ? "socket" : "device";
}

// A file, or a pipe where one may be. Opening a pipe that nobody writes to would wait for ever, but for O_NONBLOCK.
class Source {
 public:
  Source(const fs::path& path, bool or_pipe) : path_(path), file_(path, O_RDONLY | O_NONBLOCK | O_NOCTTY) {
    struct stat info {};
    TSR_CHECK(file_.ok() && ::fstat(file_.get(), &info) == 0, "cannot read {}: {}", printable(path.string()), reason());
    is_pipe_ = S_ISFIFO(info.st_mode);
    TSR_CHECK(S_ISREG(info.st_mode) || (is_pipe_ && or_pipe), "cannot read {}: it is a {}, a file was expected",
              printable(path.string()), kind_of(info.st_mode));
    size_ = static_cast<size_t>(info.st_size);
  }

  size_t size() const { return size_; }  // 0: not known; a file may grow
  bool is_pipe() const { return is_pipe_; }

  // The number of bytes put to `to`; 0 at the end.
  size_t read(void* to, size_t most) const {
    while (true) {
      if (is_pipe_) wait();
      const ssize_t got = ::read(file_.get(), to, most);
      if (got >= 0) return static_cast<size_t>(got);
      TSR_CHECK(errno == EINTR || (is_pipe_ && errno == EAGAIN), "cannot read {}: {}", printable(path_.string()), reason());
    }
  }

 private:
  void wait() const {
    constexpr int kPatience_s = 30;
    pollfd asked{file_.get(), POLLIN, 0};
    const int ready = ::poll(&asked, 1, kPatience_s * 1000);
    TSR_CHECK(ready != 0, "cannot read {}: nothing has come through this pipe for {} s", printable(path_.string()),
              kPatience_s);
  }

  const fs::path& path_;
  Descriptor file_;
  bool is_pipe_ = false;
  size_t size_ = 0;
};

template <class Buffer>
Buffer read_all(const fs::path& path, bool or_pipe = false, uint64_t most = std::numeric_limits<uint64_t>::max()) {
  constexpr size_t kMostOfAPipe = size_t{16} << 20;
  const Source source(path, or_pipe);
  TSR_CHECK(source.size() <= most, "cannot read {}: it has {} bytes, expected {} at most", printable(path.string()),
            source.size(), most);
  Buffer content;
  content.resize(source.size());
  size_t done = 0;
  while (true) {
    if (done == content.size()) content.resize(done + (source.size() == 0 ? 65536 : 1));
    const size_t got = source.read(content.data() + done, content.size() - done);
    if (got == 0) break;
    done += got;
    TSR_CHECK(!source.is_pipe() || done <= kMostOfAPipe,
              "cannot read {}: more than {} MiB have come through this pipe; write it to a file", printable(path.string()),
              kMostOfAPipe >> 20);
  }
  content.resize(done);
  return content;
}

// A folder's entry; what a link leads to is asked of the system, anything else the folder knows itself.
struct FolderEntry {
  std::string name;
  bool is_folder;
};

std::vector<FolderEntry> entries_of(const fs::path& folder) {
  std::vector<FolderEntry> entries;
  struct Close {
    void operator()(DIR* stream) const { ::closedir(stream); }
  };
  const std::unique_ptr<DIR, Close> stream(::opendir(folder.c_str()));
  if (!stream) return entries;
  while (const dirent* entry = ::readdir(stream.get())) {
    if (entry->d_name[0] == '.') continue;
    bool is_folder = entry->d_type == DT_DIR, is_file = entry->d_type == DT_REG;
    if (entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN) {
      struct stat target {};
      const bool found = ::fstatat(::dirfd(stream.get()), entry->d_name, &target, 0) == 0;
      is_folder = found && S_ISDIR(target.st_mode);
      is_file = !is_folder && (entry->d_type == DT_LNK || (found && S_ISREG(target.st_mode)));
    }
    if (is_folder || is_file) entries.push_back({entry->d_name, is_folder});
  }
  std::sort(entries.begin(), entries.end(), [](const FolderEntry& a, const FolderEntry& b) { return a.name < b.name; });
  return entries;
}

// Names sorted part by part, as paths are. `below`: what `folder` is below the first one, with its '/'.
void collect(const fs::path& folder, const std::string& below, std::set<fs::path>& ancestors, std::vector<std::string>& found) {
  std::error_code error;
  const fs::path real = fs::canonical(folder, error);
  if (error || !ancestors.insert(real).second) return;  // a loop of symbolic links ends here
  for (const FolderEntry& entry : entries_of(folder)) {
    if (entry.is_folder) {
      collect(folder / entry.name, below + entry.name + "/", ancestors, found);
    } else {
      found.push_back(below + entry.name);
    }
  }
  ancestors.erase(real);
}

}  // namespace

std::vector<uint8_t> read_bytes(const fs::path& path, uint64_t most) {
  return read_all<std::vector<uint8_t>>(path, /*or_pipe=*/false, most);
}

std::string read_text(const fs::path& path) {
  return read_all<std::string>(path);
}

std::string read_text_or_pipe(const fs::path& path) {
  return read_all<std::string>(path, /*or_pipe=*/true);
}

std::vector<std::string> read_lines(const fs::path& path) {
  return lines_of(read_text(path), path);
}

std::vector<std::string> lines_of(const std::string& text, const fs::path& path) {
  std::vector<std::string> lines;
  TSR_CHECK(!text.starts_with("\xff\xfe") && !text.starts_with("\xfe\xff"),
            "{} is UTF-16 text: expected UTF-8; save it with that encoding", printable(path.string()));
  const std::string_view mark = "\xef\xbb\xbf";  // of UTF-8; editors on Windows put it first
  for (size_t begin = text.starts_with(mark) ? mark.size() : 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty() && line.front() != '#') lines.push_back(std::move(line));
    begin = end + 1;
  }
  return lines;
}

bool is_stream(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

namespace {

// Where others may write, a name may be exchanged between a look at it and its opening, and a pipe may be somebody's trap: what
// is looked at here is what is opened, whatever the name leads to by then.
Descriptor open_stream(const fs::path& path) {
  const Descriptor found(path, O_PATH);
  struct stat info {
  }, folder{};
  TSR_CHECK(found.ok() && ::fstat(found.get(), &info) == 0, "cannot write {}: {}", printable(path.string()), reason());
  TSR_CHECK(!S_ISREG(info.st_mode), "cannot write {}: it was a pipe or device and is a file now", printable(path.string()));
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool others_write = ::stat(parent.c_str(), &folder) == 0 && (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  TSR_CHECK(!S_ISFIFO(info.st_mode) || !others_write || info.st_uid == ::geteuid(),
            "cannot write {}: it is a pipe of another user in a folder where others may write; choose another place",
            printable(path.string()));
  return Descriptor(fmt::format("/proc/self/fd/{}", found.get()), O_WRONLY | O_NOCTTY);
}

}  // namespace

void write_file(const fs::path& given, std::span<const uint8_t> content, Access access) {
  const fs::path path = follow_links(given);
  if (is_stream(given)) {  // asked of the link itself: what /dev/stdout leads to may have no path
    const Descriptor stream = open_stream(given);
    TSR_CHECK(stream.ok() && put_all(stream, content), "cannot write {}: {}", printable(given.string()), reason());
    return;
  }
  NewFile file(path, access);
  file.write(content);
  file.move_to_target();
}

void write_file(const fs::path& path, std::string_view content, Access access) {
  write_file(path, std::span(reinterpret_cast<const uint8_t*>(content.data()), content.size()), access);
}

void sync_path(const fs::path& path) {
  Descriptor file(path, O_RDONLY);
  TSR_CHECK(file.ok() && ::fsync(file.get()) == 0, "cannot flush {} to the disk: {}", printable(path.string()), reason());
}

std::vector<std::string> list_file_names(const fs::path& folder) {
  std::error_code error;
  TSR_CHECK(fs::exists(folder, error), "no such folder: {}", printable(folder.string()));
  TSR_CHECK(fs::is_directory(folder, error), "{} is not a folder", printable(folder.string()));
  std::vector<std::string> found;
  std::set<fs::path> ancestors;
  collect(folder, "", ancestors, found);
  return found;
}

std::vector<fs::path> list_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const std::string& name : list_file_names(folder)) found.push_back(folder / name);
  return found;
}

void make_folders(const fs::path& folder, Access access) {
  // It would become a folder here that is called so, and what was meant to leave the machine would not.
  TSR_CHECK(folder.native().find("://") == std::string::npos,
            "{} is a URL, and this is written to a folder of this machine: name one, and copy it", printable(folder.string()));
  fs::path last = folder;
  while ((!last.has_filename() || last.filename() == ".") && last.has_relative_path()) last = last.parent_path();  // "a/b/./"
  std::error_code error;
  if (last.empty() || fs::is_directory(last, error)) return;
  error.clear();
  if (last.has_parent_path()) fs::create_directories(last.parent_path(), error);
  TSR_CHECK(!error, "cannot make the folder {}: {}", printable(folder.string()), error.message());
  const std::string why = ::mkdir(last.c_str(), folder_mode(access)) == 0 ? "" : reason();
  TSR_CHECK(why.empty() || fs::is_directory(last, error), "cannot make the folder {}: {}", printable(folder.string()), why);
}

std::string why_not_writable(const fs::path& folder, Access access) {
  try {
    make_folders(folder, access);
    NewFile probe(folder / "probe", Access::kPrivate);
    probe.write(std::span(reinterpret_cast<const uint8_t*>("probe"), 5));
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace tessera
