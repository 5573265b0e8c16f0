#include "data/fetch/fetch_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress_bar.h"
#include "data/fetch/fetched_archive.h"
#include "data/fetch/merge_objects.h"
#include "storage/place_url.h"
#include "storage/unpack.h"

namespace tessera {
namespace {

constexpr double kGigabyte = 1e9;

uint64_t room_in(const fs::path& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  return error ? UINT64_MAX : space.available;
}

void refuse_without_room(const fs::path& folder, uint64_t needed, const std::string& for_what) {
  const uint64_t room = room_in(folder);
  TSR_CHECK(needed <= room,
            "{} needs {:.3g} GB and the disk of {} has {:.3g} GB left; make room, or choose another place (--to)", for_what,
            static_cast<double>(needed) / kGigabyte, folder.string(), static_cast<double>(room) / kGigabyte);
}

// The paths of Note [Fetching].
struct Places {
  fs::path root, work;
  explicit Places(const fs::path& given) : root(fs::absolute(given).lexically_normal()) {
    if (!root.has_filename()) root = root.parent_path();  // "a/b/"
    work = root.string() + ".fetch";
  }
  fs::path unpacking(size_t number) const { return work / fmt::format("unpacking-{}", number); }
  fs::path unpacked(size_t number) const { return work / fmt::format("unpacked-{}", number); }
  fs::path arranging() const { return work / "arranging"; }
  fs::path whole() const { return work / "whole"; }
};

void flush_name(const fs::path& path) {
  sync_path(path.parent_path());
}

// Room for what is still to come: archives, and images hardly shrink in one.
void refuse_without_room(const PublicData& data, const Places& places) {
  uint64_t needed = 0;
  for (size_t i = 0; i < data.files.size(); ++i) {
    const auto bytes = static_cast<uint64_t>(std::max<int64_t>(0, data.files[i].bytes));
    std::error_code error;
    if (!fs::exists(places.unpacked(i), error))
      needed += bytes + bytes - std::min(bytes, bytes_here(data.files[i], places.work));
  }
  refuse_without_room(places.work, needed, data.name);
}

void unpack(const PublicFile& file, const fs::path& archive, const Places& places, size_t number) {
  std::error_code ignored;
  fs::remove_all(places.unpacking(number), ignored);
  refuse_without_room(places.work, unpacked_bytes(archive), "unpacking " + file.name());
  const auto megabytes = static_cast<int64_t>(fs::file_size(archive) >> 20);
  ProgressBar bar("unpack " + file.name(), std::max<int64_t>(1, megabytes));
  UnpackOptions options;
  options.strip = file.strip;
  options.max_bytes = room_in(places.work);
  options.taken = [&](uint64_t bytes) { bar.update(static_cast<int64_t>(bytes >> 20), "MB"); };
  const Unpacked unpacked = unpack_archive(archive, places.unpacking(number), options);
  TSR_CHECK(unpacked.files > 0, "{} holds no files{}; the archive is not what it was", archive.string(),
            file.strip.empty() ? "" : " below " + file.strip);
  fs::rename(places.unpacking(number), places.unpacked(number));
  flush_name(places.unpacked(number));
  log_info("{}: {} files, {:.3g} GB", file.name(), unpacked.files, static_cast<double>(unpacked.bytes) / kGigabyte);
}

// Moves what is in `from` to `to`, folders that both have entry by entry. What an earlier process moved is gone from `from`.
void move_into(const fs::path& from, const fs::path& to) {
  make_folders(to);
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) entries.push_back(entry.path());
  for (const fs::path& entry : entries) {
    const fs::path target = to / entry.filename();
    const bool both_folders = fs::is_directory(entry) && fs::is_directory(target);
    if (both_folders) {
      move_into(entry, target);
      continue;
    }
    TSR_CHECK(!fs::exists(target), "two archives of the data set hold {}; it is not what it was", target.filename().string());
    fs::rename(entry, target);
  }
}

void put_together(const PublicData& data, const Places& places) {
  if (data.arrangement == Arrangement::kMergeObjects) {
    std::error_code ignored;
    if (fs::exists(places.whole(), ignored)) return;
    fs::remove_all(places.arranging(), ignored);
    ProgressBar bar("merge masks", 1);
    for (size_t i = 0; i < data.files.size(); ++i)
      merge_objects(places.unpacked(i), places.arranging(),
                    [&](int64_t done, int64_t all) { bar.update(done * 100 / all, "%"); });
    const Descriptor folder(places.arranging(), O_RDONLY | O_DIRECTORY);
    TSR_CHECK(folder.ok() && ::syncfs(folder.get()) == 0, "cannot flush {}: {}", places.arranging().string(),
              std::strerror(errno));
    fs::rename(places.arranging(), places.whole());
    return;
  }
  for (size_t i = 0; i < data.files.size(); ++i) move_into(places.unpacked(i), places.whole());
}

void remove_work(const PublicData& data, const Places& places) {
  std::error_code ignored;
  for (size_t i = 0; i < data.files.size(); ++i) fs::remove_all(places.unpacked(i), ignored);
  fs::remove(places.work, ignored);  // not where archives are kept in it
}

void fetch_locked(const PublicData& data, const Places& places, bool keep) {
  TSR_CHECK_USAGE(!fs::exists(places.root) || fs::is_empty(places.root),
                  "{} is there, but not as {} should be: expected {} in it; move it away, or choose another place",
                  places.root.string(), data.name, fmt::join(data.has, ", "));
  log_info("{}: {}", data.name, data.title);
  log_info("licence: {}{}", data.licence, data.licence_url.empty() ? "" : "; see " + data.licence_url);
  make_folders(places.work);
  if (!fs::exists(places.whole())) refuse_without_room(data, places);
  for (size_t i = 0; i < data.files.size(); ++i) {
    if (fs::exists(places.unpacked(i)) || fs::exists(places.whole())) continue;
    const FetchedArchive archive = fetch_archive(data.files[i], places.work);
    unpack(data.files[i], archive.path, places, i);
    archive.settle(keep);
  }
  put_together(data, places);
  TSR_CHECK(is_fetched(data, places.whole()),
            "{} was unpacked, but {} is not in it; the publisher has changed the archives. "
            "What was unpacked is in {}",
            data.name, fmt::join(data.has, " or "), places.whole().string());
  fs::rename(places.whole(), places.root);
  flush_name(places.root);
  remove_work(data, places);
  log_info("{} is in {}", data.name, places.root.string());
}

}  // namespace

bool is_fetched(const PublicData& data, const fs::path& root) {
  std::error_code error;
  return fs::is_directory(root, error) &&
         std::all_of(data.has.begin(), data.has.end(), [&](const std::string& part) { return fs::exists(root / part, error); });
}

void fetch_data(const PublicData& data, const fs::path& root, bool keep) {
  const Places places(root);
  std::error_code error;
  if (is_fetched(data, places.root) && !fs::exists(places.work, error)) return;
  make_folders(places.root.parent_path());
  FileLock lock(places.work.string() + ".lock", "choose another place, or ask its owner to fetch " + data.name);
  if (!lock.try_lock()) {
    log_info("waiting for {}, which fetches {}", lock.holder(), data.name);
    lock.wait();
  }
  if (is_fetched(data, places.root)) {
    remove_work(data, places);  // of a process that was killed after its last step
  } else {
    fetch_locked(data, places, keep);
  }
  lock.remove();
}

void fetch_if_asked(const DataConfig& config) {
  if (config.fetch.empty() || config.fetch == "false") return;
  TSR_CHECK_USAGE(!config.path.empty(), "data.fetch={}: data.path is not set: give the folder that the data set is to become",
                  config.fetch);
  std::error_code error;
  if (is_url(config.path) || (fs::exists(config.path, error) && !fs::is_empty(config.path, error))) return;
  if (config.fetch != "true") return fetch_data(find_public_data(public_data(), config.fetch), config.path);
  const PublicData* data = public_data_at(public_data(), config.path);
  TSR_CHECK_USAGE(
      data != nullptr,
      "data.path: no such folder: {}; data.fetch=true fetches what is called as a known data set is, and that is not: "
      "correct data.path, or set data.fetch to a name of `tessera data fetch --list`",
      config.path);
  fetch_data(*data, config.path);
}

std::string fetch_hint(const fs::path& path) {
  const PublicData* data = public_data_at(public_data(), path);
  if (data == nullptr) return "";
  fs::path to = fs::absolute(path).lexically_normal();
  for (const fs::path& part : fs::path(data->folder)) {
    if (!part.empty()) to = to.parent_path();
  }
  return fmt::format("; `tessera data fetch {} --to {}` gets it, or data.fetch=true", data->name, to.string());
}

}  // namespace tessera
