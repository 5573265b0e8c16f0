#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace tessera {

// The network or the server said no. The message is the reason alone: the caller knows what the file was for.
class DownloadError : public Error {
 public:
  using Error::Error;
};

struct Downloaded {
  int64_t bytes = 0;
  bool resumed = false;  // a part of it came with an earlier call
};

// Fetches `url` (http, https; redirects are followed, proxies taken from the environment) into `partial`. What an earlier call
// left there is gone on with, if the server still has the same file: the mark it gave (ETag or date) is kept in PARTIAL.mark.
// Cut connections and busy servers are tried again for some seconds. A progress bar on terminals. Throws DownloadError for the
// network's faults, Error for the disk's; what came so far stays in `partial`.
Downloaded download(const std::string& url, const std::filesystem::path& partial);

// Removes `partial` and its mark.
void forget_download(const std::filesystem::path& partial);

}  // namespace tessera
