#include "storage/sent_folder.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/start_threads.h"
#include "storage/cache_folder.h"
#include "storage/s3_bucket.h"

namespace tessera {
namespace {

constexpr int kConnections = 4;

}  // namespace

SentFolder::SentFolder(const std::string& url, const std::string& what) : place_(parse_place(url)) {
  TSR_CHECK_USAGE(place_.kind == PlaceKind::kS3 || place_.kind == PlaceKind::kGoogle,
                  "{}={}: results go to a folder, s3://BUCKET/FOLDER or gs://BUCKET/FOLDER", what, url);
  const fs::path uploads = cache_folder() / "uploads";
  const Access access = access_at(uploads);
  make_folders(uploads, access);
  folder_ = make_new_folder(uploads, "results-", access);
}

SentFolder::~SentFolder() {
  std::error_code ignored;
  fs::remove(folder_, ignored);  // if it is empty
}

std::string SentFolder::root() const {
  return S3Bucket(place_, settings_for(place_), {}).root();
}

void SentFolder::send() {
  const std::vector<fs::path> files = list_files(folder_);
  if (files.empty()) return;
  S3Bucket bucket(place_, settings_for(place_), {});
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::string reason;  // of the connection that set `failed`
  const auto work = [&] {
    for (size_t i = 0; !failed && (i = next++) < files.size();) {
      try {
        bucket.put(fs::relative(files[i], folder_).generic_string(), read_bytes(files[i]));
      } catch (const std::exception& error) {
        if (!failed.exchange(true)) reason = error.what();
      }
    }
  };
  std::vector<std::thread> connections;
  start_threads(connections, std::min<int64_t>(kConnections, std::ssize(files)) - 1, work);
  work();
  for (std::thread& connection : connections) connection.join();
  TSR_CHECK(!failed, "{}; all results are in {}", reason, folder_.string());
  std::error_code error;
  fs::remove_all(folder_, error);
  if (error) log_warn("{} cannot be removed: {}", folder_.string(), error.message());
}

}  // namespace tessera
