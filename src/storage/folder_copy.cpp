#include "storage/folder_copy.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "storage/file_store.h"

namespace tessera {
namespace {

constexpr const char* kCheckpoints = "checkpoints";
constexpr const char* kDone = "DONE";
constexpr const char* kBest = "checkpoints/best.json";
constexpr const char* kEvaluated = "/evaluated.json";  // what is added to a complete one
constexpr const char* kFetched = ".fetched";
constexpr const char* kDraft = ".writing-";  // as checkpoints are called until they are whole
constexpr std::chrono::seconds kPatienceOfTheEnd{60};

Place bucket_place(const std::string& url) {
  Place place = parse_place(url);
  TSR_CHECK_USAGE(place.kind == PlaceKind::kS3 || place.kind == PlaceKind::kGoogle,
                  "run.upload={}: expected s3://BUCKET/FOLDER or gs://BUCKET/FOLDER", url);
  return place;
}

// "checkpoints/step-00000010/DONE" -> "step-00000010"; "" for other files.
std::string checkpoint_of(const std::string& name) {
  const fs::path path(name);
  auto part = path.begin();
  if (std::distance(path.begin(), path.end()) != 3 || part->string() != kCheckpoints) return "";
  return (++part)->string();
}

std::string file_of(const std::string& checkpoint, const std::string& name) {
  return fmt::format("{}/{}/{}", kCheckpoints, checkpoint, name);
}

std::string named_best(const Blob& text) {
  const auto best = nlohmann::json::parse(text.bytes.begin(), text.bytes.end(), nullptr, /*allow_exceptions=*/false);
  const bool named = best.is_object() && best.contains("checkpoint") && best["checkpoint"].is_string();
  return named ? best["checkpoint"].get<std::string>() : "";
}

}  // namespace

FolderCopy::FolderCopy(const std::string& url, fs::path folder, Access access)
    : bucket_(bucket_place(url), settings_for(bucket_place(url)), {}), url_(url), folder_(std::move(folder)), access_(access) {}

FolderCopy::~FolderCopy() {
  finish(kPatienceOfTheEnd);
}

std::vector<std::string> FolderCopy::complete_here() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder_ / kCheckpoints, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with('.') && fs::exists(at->path() / kDone, ignored)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string FolderCopy::newest_checkpoint() {
  complete_there_.clear();
  for (const std::string& name : bucket_.list(std::string(kCheckpoints) + "/")) {
    if (const std::string checkpoint = checkpoint_of(name); !checkpoint.empty() && name.ends_with(std::string("/") + kDone))
      complete_there_.insert(checkpoint);
  }
  return complete_there_.empty() ? "" : *complete_there_.rbegin();
}

// Fetched into a folder of its own first; what was killed meanwhile is left to be removed by the next one.
bool FolderCopy::fetch_newer() {
  const std::string newest = newest_checkpoint();
  const std::vector<std::string> here = complete_here();
  if (newest.empty() || (!here.empty() && here.back() >= newest)) return false;
  log_info("fetching {} and what belongs to it from {}", newest, root());
  const fs::path kept = folder_ / kFetched;
  std::error_code ignored;
  fs::remove_all(kept, ignored);
  make_folders(kept, access_);
  {
    constexpr int64_t kNoLimit = int64_t{1} << 60;
    const auto store = open_file_store(url_, {.cache = kept, .cache_limit = kNoLimit});
    take_files(*store, newest, here);
  }
  fs::remove_all(kept, ignored);
  return true;
}

void FolderCopy::take_files(FileStore& store, const std::string& newest, const std::vector<std::string>& here) {
  std::vector<std::string> names = store.list("");
  const bool has_best = std::find(names.begin(), names.end(), kBest) != names.end();
  const std::string best = has_best ? named_best(store.open(kBest)) : "";
  std::map<std::string, fs::path> drafts;  // by checkpoint
  make_folders(folder_ / kCheckpoints, access_);
  for (const std::string& checkpoint : {newest, best}) {
    const bool missing = std::find(here.begin(), here.end(), checkpoint) == here.end();
    if (missing && complete_there_.count(checkpoint) > 0 && drafts.count(checkpoint) == 0)
      drafts[checkpoint] = make_new_folder(folder_ / kCheckpoints, kDraft + checkpoint + "-", access_);
  }
  std::erase_if(names, [&](const std::string& name) {
    if (name == kBest) return false;
    const bool other = name.starts_with(kCheckpoints) && drafts.count(checkpoint_of(name)) == 0;
    return other || ("/" + name).find("/.") != std::string::npos;  // hidden ones are not ours, and ".." leads out
  });
  store.will_need(names);
  for (const std::string& name : names) {
    const Blob content = store.open(name);
    const std::string checkpoint = checkpoint_of(name);
    const fs::path target = checkpoint.empty() ? folder_ / name : drafts.at(checkpoint) / fs::path(name).filename();
    make_folders(target.parent_path(), access_);
    write_file(target, content.bytes, access_);
  }
  for (const auto& [checkpoint, draft] : drafts) {
    std::error_code error;
    fs::remove_all(folder_ / kCheckpoints / checkpoint, error);  // one that is not complete
    fs::rename(draft, folder_ / kCheckpoints / checkpoint, error);
    TSR_CHECK(!error, "cannot move {} to its place: {}", draft.string(), error.message());
  }
}

bool FolderCopy::is_same() {
  if (complete_there_.empty()) return false;
  for (const std::string& name : {file_of(*complete_there_.rbegin(), kDone), std::string(kBest)}) {
    const HttpReply there = bucket_.send(bucket_.request(name), bucket_.name_of(name), /*nothing_at_404=*/true);
    std::error_code error;
    const bool is_here = fs::exists(folder_ / name, error);
    if (there.ok() != is_here || (is_here && there.body != read_text(folder_ / name))) return false;
  }
  return true;
}

void FolderCopy::start(std::chrono::seconds period) {
  worker_ = std::thread([this, period] { work(period); });
}

void FolderCopy::work(std::chrono::seconds period) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait_for(lock, period, [&] { return stop_; });
    const bool last = stop_;
    lock.unlock();
    copy_all();
    lock.lock();
    if (!last) continue;
    ended_ = true;
    changed_.notify_all();
    return;
  }
}

void FolderCopy::finish(std::chrono::seconds patience) {
  if (!worker_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stop_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, patience, [&] { return ended_; })) bucket_.client().cancel();
  }
  worker_.join();
  if (!last_trouble_.empty())
    log_warn("the run is whole in {}, but its copy at {} is not: {}; `tessera train` with --resume completes it",
             folder_.string(), root(), last_trouble_);
}

// False: something was not copied.
bool FolderCopy::copy_all() {
  try {
    const std::vector<std::string> complete = complete_here();
    for (const std::string& checkpoint : complete) copy_checkpoint(checkpoint);
    for (const fs::path& path : list_files(folder_)) {
      const std::string name = path.lexically_relative(folder_).generic_string();
      if (checkpoint_of(name).empty()) copy_changed(name, /*lasting=*/false);
    }
    remove_old(complete);
    last_trouble_.clear();
    return true;
  } catch (const std::exception& e) {
    if (last_trouble_ != e.what()) log_warn("the copy of the run is behind: {}; it is tried again", e.what());
    last_trouble_ = e.what();
    return false;
  }
}

void FolderCopy::copy_checkpoint(const std::string& checkpoint) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder_ / kCheckpoints / checkpoint, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with('.') && name != kDone) names.push_back(file_of(checkpoint, name));
  }
  const std::string done = file_of(checkpoint, kDone);
  if (copied_.count(done) == 0 && complete_there_.count(checkpoint) > 0) look_at_old_copy(checkpoint, names);
  for (const std::string& name : names) copy_changed(name, /*lasting=*/true);
  // Removed or written anew meanwhile: the next time.
  if (!std::all_of(names.begin(), names.end(), [&](const std::string& name) { return seen(name) == copied_[name]; })) return;
  copy_changed(done, /*lasting=*/true);
  complete_there_.insert(checkpoint);
}

// DONE holds the hashes of the others: what an earlier process copied need not go up again. Another one of that name must not
// look complete while its files are replaced.
void FolderCopy::look_at_old_copy(const std::string& checkpoint, const std::vector<std::string>& names) {
  const std::string done = file_of(checkpoint, kDone);
  const HttpReply reply = bucket_.send(bucket_.request(done), bucket_.name_of(done), /*nothing_at_404=*/true);
  if (reply.ok() && reply.body == read_text(folder_ / done)) {
    for (const std::string& name : names) {
      if (!name.ends_with(kEvaluated)) copied_[name] = seen(name);
    }
    copied_[done] = seen(done);
  } else {
    complete_there_.erase(checkpoint);
    bucket_.remove(done);
  }
}

FolderCopy::Seen FolderCopy::seen(const std::string& name) const {
  struct stat info {};
  if (::stat((folder_ / name).c_str(), &info) != 0) return {};
  return {info.st_size, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
}

// lasting: it is replaced or removed whole, never changed in its place, and may be large.
void FolderCopy::copy_changed(const std::string& name, bool lasting) {
  const Seen now = seen(name);
  if (now == Seen{} || now == copied_[name]) return;
  Blob content;
  try {
    content = lasting ? map_file(folder_ / name) : own_bytes(read_bytes(folder_ / name));
  } catch (const Error&) {
    if (seen(name) == Seen{}) return;  // it went meanwhile, and so will its copy
    throw;
  }
  bucket_.put(name, content.bytes);
  copied_[name] = now;
}

// Only what is older than a complete one that is in both places.
void FolderCopy::remove_old(const std::vector<std::string>& here) {
  if (here.empty()) return;
  const std::set<std::string> there = complete_there_;
  for (const std::string& checkpoint : there) {
    if (checkpoint >= here.back() || std::find(here.begin(), here.end(), checkpoint) != here.end()) continue;
    bucket_.remove(file_of(checkpoint, kDone));
    for (const std::string& name : bucket_.list(fmt::format("{}/{}/", kCheckpoints, checkpoint))) bucket_.remove(name);
    complete_there_.erase(checkpoint);
    std::erase_if(copied_, [&](const auto& entry) { return checkpoint_of(entry.first) == checkpoint; });
  }
}

}  // namespace tessera
