#include "storage/fetched_run.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "storage/cache_folder.h"
#include "storage/folder_copy.h"
#include "storage/object_cache.h"

namespace tessera {
namespace {

fs::path fetch(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const fs::path runs = cache_folder() / "runs";
  const Access access = access_at(runs);
  make_folders(runs, access);
  const fs::path folder = runs / ObjectCache::key_of(url, "run") / fs::path(url).filename();
  make_folders(folder.parent_path(), access);
  make_folders(folder, access);
  FileLock lock(folder.parent_path() / ".lock", "set TESSERA_CACHE to a folder of yours", access);
  lock.wait();
  FolderCopy copy(url, folder, access);
  const std::string newest = copy.newest_checkpoint();
  TSR_CHECK(!newest.empty(), "{} holds no complete checkpoint (looked for checkpoints/step-*/DONE)", printable(mask_urls(url)));
  if (copy.is_same()) return folder;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  make_folders(folder, access);
  copy.fetch_newer();
  return folder;
}

}  // namespace

fs::path fetched_run(const std::string& path_or_url) {
  if (!is_url(path_or_url)) return path_or_url;
  static std::mutex mutex;
  static std::map<std::string, fs::path> fetched;  // by this process, which is to see one state of a run
  const std::lock_guard lock(mutex);
  if (const auto found = fetched.find(path_or_url); found != fetched.end()) return found->second;
  return fetched[path_or_url] = fetch(path_or_url);
}

}  // namespace tessera
