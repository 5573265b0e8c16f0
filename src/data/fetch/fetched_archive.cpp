#include "data/fetch/fetched_archive.h"

#include <sys/stat.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/secrets.h"
#include "storage/blob.h"
#include "storage/content_hash.h"
#include "storage/parallel_download.h"

namespace tessera {
namespace {

fs::path partial_of(const PublicFile& file, const fs::path& work) {
  return work / (file.name() + ".part");
}

fs::path checked_of(const PublicFile& file, const fs::path& work) {
  return work / (file.name() + ".checked");
}

// "" where the file is what it should be, as far as that is known, else what is wrong.
std::string complaint(const PublicFile& file, const fs::path& path) {
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  if (file.bytes >= 0 && bytes != file.bytes) return fmt::format("it has {} bytes, expected {}", bytes, file.bytes);
  if (file.digest.empty()) return "";
  const std::string digest = content_hash(file.algorithm, map_large_file(path).bytes);
  if (digest == lower(file.digest)) return "";
  return fmt::format("its {} is {}, expected {}", file.algorithm, digest, file.digest);
}

}  // namespace

void FetchedArchive::settle(bool keep) const {
  if (!is_ours) return;
  std::error_code ignored;
  if (keep) {
    fs::rename(path, fs::path(path).replace_extension());  // without .checked
  } else {
    fs::remove(path, ignored);
  }
}

FetchedArchive fetch_archive(const PublicFile& file, const fs::path& work) {
  const fs::path by_hand = work / file.name(), partial = partial_of(file, work);
  if (fs::exists(by_hand)) {
    const std::string wrong = complaint(file, by_hand);
    TSR_CHECK(wrong.empty(), "{} is not {}: {}; remove it to have it fetched", by_hand.string(), mask_urls(file.url), wrong);
    log_info("{} is here", by_hand.string());
    return {by_hand, false};
  }
  const fs::path checked = checked_of(file, work);
  if (fs::exists(checked)) return {checked, true};
  log_info("downloading {}", mask_urls(file.url));
  for (bool again = false;; again = true) {
    Downloaded got;
    try {
      got = download_in_parts(file.url, partial);
    } catch (const DownloadError& error) {
      fail(
          "cannot download {}: {}; what has come is kept, the same command goes on with it. Without a network, fetch it "
          "elsewhere and put it as {} into {}, where it will be found and checked",
          mask_urls(file.url), error.what(), file.name(), work.string());
    }
    const std::string wrong = complaint(file, partial);
    if (wrong.empty()) {
      sync_path(partial);
      fs::rename(partial, checked);
      forget_download_in_parts(partial);
      return {checked, true};
    }
    forget_download_in_parts(partial);
    // The two halves may be of different files: once more, from the beginning.
    TSR_CHECK(got.resumed && !again, "{} is not the file it should be: {}; it was not kept", mask_urls(file.url), wrong);
  }
}

uint64_t bytes_here(const PublicFile& file, const fs::path& work) {
  for (const fs::path& path : {work / file.name(), checked_of(file, work), partial_of(file, work)}) {
    struct stat info {};
    constexpr uint64_t kBlock = 512;  // of st_blocks: a file in the making has holes
    if (::stat(path.c_str(), &info) == 0) return std::min<uint64_t>(info.st_size, info.st_blocks * kBlock);
  }
  return 0;
}

}  // namespace tessera
