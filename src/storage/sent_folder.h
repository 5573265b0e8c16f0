#pragma once
#include <filesystem>
#include <string>

#include "storage/place_url.h"

namespace tessera {

// A folder of results that goes to a bucket as a whole: its files are written here first, in cache_folder()/uploads.
class SentFolder {
 public:
  // what: of a mistake, "--output". Throws UsageError where the URL is of no bucket.
  SentFolder(const std::string& url, const std::string& what);
  // What was not sent stays.
  ~SentFolder();
  SentFolder(const SentFolder&) = delete;
  SentFolder& operator=(const SentFolder&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::string root() const;  // as messages name it

  // Sends all files, several at a time, those that are there already are replaced; then the folder here is removed. Throws
  // Error that names the first that could not be sent and where all of them are.
  void send();

 private:
  Place place_;
  std::filesystem::path folder_;
};

}  // namespace tessera
