#include "weights/fetch/weight_cache.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/suggest.h"
#include "weights/fetch/download.h"
#include "weights/fetch/sha256.h"
#include "weights/fetch/zoo.h"

namespace tessera {
namespace {

constexpr std::string_view kHashMark = "#sha256=";
constexpr size_t kHashDigits = 64, kShownDigits = 8;

// What was found out about a file when it was last hashed. As long as size and date are these, it need not be hashed again.
struct Seen {
  std::string sha256;
  uint64_t bytes = 0;
  int64_t modified = 0;  // in the file system's own ticks
};

fs::path seen_path(const fs::path& file) {
  return file.string() + ".seen.json";
}

std::optional<Seen> read_seen(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(seen_path(file), error)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_text(seen_path(file)), nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* key) { return json.contains(key) && json[key].is_number_integer(); };
  if (!json.is_object() || !json.contains("sha256") || !json["sha256"].is_string()) return std::nullopt;
  if (!number("bytes") || !number("modified")) return std::nullopt;
  return Seen{json["sha256"], json["bytes"], json["modified"]};
}

Seen look_at(const fs::path& file) {
  return {"", fs::file_size(file), fs::last_write_time(file).time_since_epoch().count()};
}

void write_seen(const WeightSource& source, const std::string& sha256) {
  const Seen now = look_at(source.file);
  const nlohmann::json json{{"url", source.url}, {"sha256", sha256}, {"bytes", now.bytes}, {"modified", now.modified}};
  try {
    write_file(seen_path(source.file), json_text(json, 2) + "\n");
  } catch (const Error& error) {  // a cache that others fill and we may only read: hashed again next time
    log_debug("{}", error.what());
  }
}

// "" if `sha256` is what `source` should have, else what is wrong.
std::string complaint(const WeightSource& source, const std::string& sha256, const std::optional<Seen>& seen) {
  if (!source.sha256.empty()) {
    return sha256.starts_with(source.sha256) ? "" : fmt::format("its sha256 is {}, expected {}", sha256, source.sha256);
  }
  if (!seen || seen->sha256 == sha256) return "";
  return fmt::format("its sha256 is {}, but was {} when it was first fetched", sha256, seen->sha256);
}

void say_first_seen(const WeightSource& source, const std::string& sha256) {
  log_info("{}: no checksum is published for this file; its sha256 {} is noted in {} and checked from now on", source.name,
           sha256, seen_path(source.file).string());
}

// A file that someone put there.
void check_in_place(const WeightSource& source) {
  const std::string sha256 = sha256_of_file(source.file);
  const auto seen = read_seen(source.file);
  const std::string wrong = complaint(source, sha256, seen);
  TSR_CHECK(wrong.empty(), "{} is not {}: {}; remove it (and {}) to have it fetched again", source.file.string(), source.url,
            wrong, seen_path(source.file).filename().string());
  if (source.sha256.empty() && !seen) say_first_seen(source, sha256);
  write_seen(source, sha256);
}

void fetch(const WeightSource& source) {
  const fs::path partial = source.file.string() + ".part";
  const auto seen = read_seen(source.file);
  log_info("downloading {} to {}", source.url, source.file.parent_path().string());
  for (bool again = false;; again = true) {
    Downloaded got;
    try {
      got = download(source.url, partial);
    } catch (const DownloadError& error) {
      fail(
          "cannot download {}: {}; without a network, fetch it elsewhere and place it as {} in {}, where it will be found and "
          "checked",
          source.url, error.what(), source.file.filename().string(), source.file.parent_path().string());
    }
    const std::string sha256 = sha256_of_file(partial);
    const std::string wrong = complaint(source, sha256, seen);
    if (wrong.empty()) {
      sync_path(partial);
      fs::rename(partial, source.file);
      forget_download(partial);
      if (source.sha256.empty() && !seen) say_first_seen(source, sha256);
      write_seen(source, sha256);
      log_info("{}: {:.1f} MB, sha256 {}", source.file.string(), static_cast<double>(got.bytes) * 1e-6, sha256);
      return;
    }
    forget_download(partial);
    // The two halves may be of different files: once more, from the beginning.
    TSR_CHECK(got.resumed && !again,
              "{} ({} bytes) is not the file it should be: {}; it was not kept. The server may have been changed or the way to "
              "it be tampered with",
              source.url, got.bytes, wrong);
  }
}

std::string last_part(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return path.substr(path.rfind('/') + 1);
}

WeightSource source_of_url(const std::string& text) {
  WeightSource source{text, text.substr(0, text.find('#')), "", {}};
  if (const size_t mark = text.find(kHashMark); mark != std::string::npos) {
    source.sha256 = lower(text.substr(mark + kHashMark.size()));
    const bool hex = source.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!hex || source.sha256.empty() || source.sha256.size() > kHashDigits)
      fail_usage("'{}': sha256 expects up to {} hex digits, got '{}'", text, kHashDigits, source.sha256);
  }
  const std::string name = last_part(source.url);
  if (name.empty() || name == "..") fail_usage("'{}' names no file; expected the URL of a weight file", text);
  // Many files are called model.pth: each URL has a folder of its own.
  source.file = cache_folder() / "weights" / sha256_of(source.url).substr(0, kShownDigits) / name;
  return source;
}

}  // namespace

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  if (const fs::path own = variable("TESSERA_CACHE"); !own.empty()) return own;
  if (const fs::path xdg = variable("XDG_CACHE_HOME"); !xdg.empty()) return xdg / "tessera";
  const fs::path home = variable("HOME");
  TSR_CHECK(!home.empty(), "no place for downloaded weights: set TESSERA_CACHE to a folder");
  return home / ".cache" / "tessera";
}

WeightSource find_source(const std::string& text) {
  if (text.starts_with("http://") || text.starts_with("https://")) return source_of_url(text);
  if (text.find("://") != std::string::npos) fail_usage("'{}': weights can be fetched by http and https only", text);
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
  const Seen now = look_at(source.file);
  return now.bytes == seen->bytes && now.modified == seen->modified;
}

fs::path fetch_weights(const WeightSource& source) {
  if (is_cached(source)) return source.file;
  const bool there = fs::exists(source.file);
  if (there && !why_not_writable(source.file.parent_path()).empty()) {
    check_in_place(source);
    return source.file;
  }
  std::error_code error;
  fs::create_directories(source.file.parent_path(), error);
  FileLock lock(source.file.string() + ".lock", "set TESSERA_CACHE to a folder that can be written");
  if (!lock.try_lock()) {
    log_info("waiting for another process that is fetching {}", source.file.string());
    lock.wait();
  }
  if (is_cached(source)) return source.file;
  fs::exists(source.file) ? check_in_place(source) : fetch(source);
  lock.remove();
  return source.file;
}

fs::path find_weights(const std::string& text) {
  std::error_code error;
  if (fs::exists(text, error)) return text;
  return fetch_weights(find_source(text));
}

}  // namespace tessera
