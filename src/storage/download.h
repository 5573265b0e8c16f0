#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/access.h"
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

// Fetches `url` (http, https; redirects are followed, but none from https to http; proxies are taken from the environment, and
// so are certificates, SSL_CERT_FILE) into `partial`. What an earlier call of this user left there is gone on with, if the
// server still has the same file: the mark it gave (ETag or date) is kept in PARTIAL.mark. Cut connections and busy servers are
// tried again for some seconds. A progress bar on terminals. Throws DownloadError for the network's faults, Error for the
// disk's; what came so far stays in `partial`. A file of more than `max_download_bytes`, or more than the disk has room for, is
// refused, as soon as that is known, and nothing of it stays.
Downloaded download(const std::string& url, const std::filesystem::path& partial, Access access = Access::kUmask);

// 20 GB, or $TESSERA_MAX_DOWNLOAD_GB. Throws UsageError where that is no number above 0.
int64_t max_download_bytes();

// Removes `partial` and its mark.
void forget_download(const std::filesystem::path& partial);

}  // namespace tessera
