#include "weights/fetch/weight_cache.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "storage/cache_folder.h"
#include "storage/download.h"
#include "storage/file_store.h"
#include "storage/sha256.h"
#include "weights/fetch/zoo.h"

namespace tessera {
namespace {

constexpr std::string_view kHashMark = "#sha256=";
constexpr size_t kHashDigits = 64, kShownDigits = 8;

// What was found out about a file when it was last hashed. As long as all but the sum are these, it need not be hashed again.
// Who changes a file can set its size and the time of its change, but neither its inode nor the time when those were set.
struct Seen {
  std::string sha256;
  int64_t bytes = 0, modified = 0, changed = 0, inode = 0;  // times in ns

  bool same_file(const Seen& other) const {
    return bytes == other.bytes && modified == other.modified && changed == other.changed && inode == other.inode;
  }
};

fs::path seen_path(const fs::path& file) {
  return file.string() + ".seen.json";
}

std::optional<Seen> read_seen(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(seen_path(file), error)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_text(seen_path(file)), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("sha256") || !json["sha256"].is_string()) return std::nullopt;
  const auto number = [&](const char* key) {  // older notes lack some: the file is hashed once more
    return json.contains(key) && json[key].is_number_integer() ? json[key].get<int64_t>() : int64_t{-1};
  };
  return Seen{json["sha256"], number("bytes"), number("modified"), number("changed"), number("inode")};
}

Seen look_at(const fs::path& file) {
  struct stat info {};
  TSR_CHECK(::stat(file.c_str(), &info) == 0, "cannot read {}: {}", file.string(), std::strerror(errno));
  const auto ns = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {"", info.st_size, ns(info.st_mtim), ns(info.st_ctim), static_cast<int64_t>(info.st_ino)};
}

void write_seen(const WeightSource& source, const std::string& sha256, Access access) {
  const Seen now = look_at(source.file);
  const nlohmann::json json{{"url", mask_urls(source.url)}, {"sha256", sha256},       {"bytes", now.bytes},
                            {"modified", now.modified},     {"changed", now.changed}, {"inode", now.inode}};
  try {
    write_file(seen_path(source.file), json_text(json, 2) + "\n", access);
  } catch (const Error& error) {  // a cache that others fill and we may only read: hashed again next time
    log_debug("{}", error.what());
  }
}

// "" if `sha256` is what `source` should have, else what is wrong. Of some files only the first digits of the sum are
// published, which other content can be made to have: they must also be what they were when they were first fetched.
std::string complaint(const WeightSource& source, const std::string& sha256, const std::optional<Seen>& seen) {
  constexpr size_t kWholeSum = 64;
  if (!sha256.starts_with(source.sha256)) return fmt::format("its sha256 is {}, expected {}", sha256, source.sha256);
  if (source.sha256.size() == kWholeSum) return "";
  if (!seen || seen->sha256 == sha256) return "";
  return fmt::format("its sha256 is {}, but was {} when it was first fetched", sha256, seen->sha256);
}

void say_first_seen(const WeightSource& source, const std::string& sha256) {
  log_info("{}: no checksum is published for this file; its sha256 {} is noted in {} and checked from now on",
           mask_urls(source.name), sha256, seen_path(source.file).string());
}

// A file that someone put there.
void check_in_place(const WeightSource& source, Access access) {
  const std::string sha256 = sha256_of_file(source.file);
  const auto seen = read_seen(source.file);
  const std::string wrong = complaint(source, sha256, seen);
  TSR_CHECK(wrong.empty(), "{} is not {}: {}; remove it (and {}) to have it fetched again", source.file.string(),
            mask_urls(source.url), wrong, seen_path(source.file).filename().string());
  if (source.sha256.empty() && !seen) say_first_seen(source, sha256);
  write_seen(source, sha256, access);
}

bool is_of_bucket(const std::string& url) {
  return url.starts_with("s3://") || url.starts_with("gs://");
}

// An object of a bucket comes through the cache of data, which goes on with what came of it and asks as docs/storage.md says.
Downloaded copy_object(const std::string& url, const fs::path& partial, Access access) {
  const size_t cut = url.rfind('/');
  const Blob object = open_file_store(url.substr(0, cut))->open(url.substr(cut + 1));
  write_file(partial, object.bytes, access);
  return {.bytes = static_cast<int64_t>(object.bytes.size())};
}

void fetch(const WeightSource& source, Access access) {
  const fs::path partial = source.file.string() + ".part";
  const auto seen = read_seen(source.file);
  log_info("downloading {} to {}", mask_urls(source.url), source.file.parent_path().string());
  for (bool again = false;; again = true) {
    Downloaded got;
    try {
      got = is_of_bucket(source.url) ? copy_object(source.url, partial, access) : download(source.url, partial, access);
    } catch (const DownloadError& error) {
      fail(
          "cannot download {}: {}; without a network, fetch it elsewhere and place it as {} in {}, where it will be found and "
          "checked",
          mask_urls(source.url), error.what(), source.file.filename().string(), source.file.parent_path().string());
    }
    const std::string sha256 = sha256_of_file(partial);
    const std::string wrong = complaint(source, sha256, seen);
    if (wrong.empty()) {
      sync_path(partial);
      fs::rename(partial, source.file);
      forget_download(partial);
      if (source.sha256.empty() && !seen) say_first_seen(source, sha256);
      write_seen(source, sha256, access);
      log_info("{}: {:.1f} MB, sha256 {}", source.file.string(), static_cast<double>(got.bytes) * 1e-6, sha256);
      return;
    }
    forget_download(partial);
    // The two halves may be of different files: once more, from the beginning.
    TSR_CHECK(got.resumed && !again,
              "{} ({} bytes) is not the file it should be: {}; it was not kept. The server may have been changed or the way to "
              "it be tampered with",
              mask_urls(source.url), got.bytes, wrong);
  }
}

// A cache that somebody has made for others stays theirs too.
Access cache_access() {
  struct stat info {};
  const fs::path folder = cache_folder();
  if (::stat(folder.c_str(), &info) != 0) return access_at(folder);
  return (info.st_mode & (S_IRWXG | S_IRWXO)) != 0 ? Access::kUmask : Access::kPrivate;
}

std::string last_part(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

// The last part becomes the name of a file, with endings of ours.
void check_names_file(const std::string& url) {
  constexpr size_t kLongestName = 200;
  const std::string name = last_part(url);
  const size_t host = url.find("://") + 3;
  const bool odd = name.empty() || name == "." || name == ".." || name != printable(name) || name.size() > kLongestName;
  if (odd || url.find_first_of("/?") == std::string::npos || url[host] == '/' || url.find('/', host) == std::string::npos)
    fail_usage("'{}' names no file; expected the URL of a weight file", printable(mask_urls(url)));
}

WeightSource source_of_url(const std::string& text) {
  WeightSource source{text, text.substr(0, text.find('#')), "", {}};
  if (const size_t mark = text.find(kHashMark); mark != std::string::npos) {
    source.sha256 = lower(text.substr(mark + kHashMark.size()));
    const bool hex = source.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!hex || source.sha256.size() != kHashDigits)
      fail_usage("'{}': #sha256= expects all {} hex digits, got {}: '{}'", mask_urls(text), kHashDigits, source.sha256.size(),
                 source.sha256);
  }
  if (source.url.find(kMasked) != std::string::npos)
    fail_usage("'{}': the credentials of this URL were left out when it was saved; write them anew, best as ${{VARIABLE}}",
               mask_urls(text));
  check_names_file(source.url);
  // Many files are called model.pth: each URL has a folder of its own.
  source.file = cache_folder() / "weights" / sha256_of(source.url).substr(0, kShownDigits) / last_part(source.url);
  return source;
}

}  // namespace

WeightSource find_source(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("https://") || is_of_bucket(text)) return source_of_url(text);
  if (text.find("://") != std::string::npos)
    fail_usage("'{}': weights can be fetched from http://, https://, s3:// and gs:// only", printable(mask_urls(text)));
  if (const ZooEntry* entry = find_in_zoo(text)) {
    const std::string url = entry->url();
    return {text, url, std::string(entry->sha256()), cache_folder() / "weights" / last_part(url)};
  }
  std::vector<std::string> names;
  for (const ZooEntry& entry : zoo()) names.emplace_back(entry.name);
  fail_usage("there is no file '{}' and no weights of that name{}; `tessera models pretrained` lists the names", text,
             did_you_mean(text, names));
}

bool is_cached(const WeightSource& source) {
  std::error_code error;
  if (!fs::is_regular_file(source.file, error)) return false;
  const auto seen = read_seen(source.file);
  if (!seen || !complaint(source, seen->sha256, seen).empty()) return false;
  return look_at(source.file).same_file(*seen);
}

fs::path fetch_weights(const WeightSource& source) {
  if (is_cached(source)) return source.file;
  const Access access = cache_access();
  const bool there = fs::exists(source.file);
  if (there && !why_not_writable(source.file.parent_path()).empty()) {
    check_in_place(source, access);
    return source.file;
  }
  constexpr const char* kAdvice = "set TESSERA_CACHE to a folder that can be written";
  const fs::path folder = source.file.parent_path();
  try {
    for (const fs::path& part : {cache_folder(), cache_folder() / "weights", folder}) make_folders(part, access);
  } catch (const Error& error) {
    fail("{}; {}", error.what(), kAdvice);
  }
  FileLock lock(source.file.string() + ".lock", kAdvice, access);
  if (!lock.try_lock()) {
    log_info("waiting for another process that is fetching {}: {}", source.file.string(), lock.holder());
    lock.wait();
  }
  try {
    remove_leftovers(folder);
    if (!is_cached(source)) fs::exists(source.file) ? check_in_place(source, access) : fetch(source, access);
  } catch (...) {
    lock.remove();
    throw;
  }
  lock.remove();
  return source.file;
}

fs::path find_weights(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return text;
  return fetch_weights(find_source(text));
}

NamedPart split_part(const std::string& text) {
  const size_t mark = text.rfind('#');
  std::error_code error;
  if (mark == std::string::npos || text.substr(mark).starts_with(kHashMark) || fs::exists(text, error)) return {text, ""};
  return {text.substr(0, mark), text.substr(mark + 1)};
}

}  // namespace tessera
