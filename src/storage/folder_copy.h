#pragma once
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/access.h"
#include "storage/file_store.h"
#include "storage/s3_bucket.h"

namespace tessera {

// Note [Copy of a run]
// A run folder is copied to a bucket while it is written, on a thread of its own: what is new or has changed goes up. A folder
// below `checkpoints` is whole when it holds DONE; it goes up when it is whole, DONE last, and best.json, which names one,
// after them. What was removed here because a newer one is complete is removed there, DONE first. So whoever looks at the copy
// sees complete checkpoints, whatever was killed when. Hidden files, among them those in the making, stay here. A failed upload
// harms nothing: it is told in the log and tried again later.
class FolderCopy {
 public:
  // url: of the copy itself, s3:// or gs://. Throws UsageError where it is no bucket.
  FolderCopy(const std::string& url, std::filesystem::path folder, Access access);
  // Without `finish`: what is there goes up if that takes no longer than a minute.
  ~FolderCopy();
  FolderCopy(const FolderCopy&) = delete;
  FolderCopy& operator=(const FolderCopy&) = delete;

  // The newest complete checkpoint of the copy, by name; "" where there is none. Asks the server: throws Error where that
  // cannot be reached or refuses.
  std::string newest_checkpoint();

  // Where the copy has a newer complete checkpoint than the folder: takes that one, the best one and all other files. False: it
  // has none. Throws Error.
  bool fetch_newer();

  // Whether the folder has the copy's newest checkpoint and its choice of the best one. After `newest_checkpoint`.
  bool is_same();

  // Begins to copy, every `period`.
  void start(std::chrono::seconds period);

  // Copies what is still to be copied; the log says where that failed. patience: before transfers are given up.
  void finish(std::chrono::seconds patience);

  std::string root() const { return bucket_.root(); }

 private:
  // How a file was when it went up.
  struct Seen {
    int64_t bytes = -1, changed_ns = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  void work(std::chrono::seconds period);
  bool copy_all();
  void copy_changed(const std::string& name, bool lasting);
  void copy_checkpoint(const std::string& checkpoint);
  void look_at_old_copy(const std::string& checkpoint, const std::vector<std::string>& names);
  void take_files(FileStore& store, const std::string& newest, const std::vector<std::string>& here);
  Seen seen(const std::string& name) const;
  void remove_old(const std::vector<std::string>& here);
  std::vector<std::string> complete_here() const;

  S3Bucket bucket_;
  std::string url_;
  std::filesystem::path folder_;
  Access access_;
  std::map<std::string, Seen> copied_;
  std::set<std::string> complete_there_;  // checkpoints with DONE
  std::string last_trouble_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, ended_ = false;
  std::thread worker_;  // the last member: it uses the others
};

}  // namespace tessera
