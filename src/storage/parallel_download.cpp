#include "storage/parallel_download.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/progress_bar.h"
#include "core/start_threads.h"
#include "storage/http_client.h"
#include "storage/part_list.h"
#include "storage/write_at.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr int kTries = 5;            // of a part that does not get on
constexpr auto kFirstPause = 500ms;  // doubled after each
constexpr long kWholeFile = 200, kPartOfFile = 206;
constexpr auto kSilence = 60s;
constexpr double kGigabyte = 1e9;

fs::path list_of(const fs::path& partial) {
  return partial.string() + ".parts";
}

// What the server says of the file, by a request of its first byte.
struct Probe {
  bool gives_parts = false;
  std::string mark;
  int64_t total = -1;
};

Probe probe(HttpClient& client, const std::string& url) {
  const HttpReply reply =
      client.send({.url = url, .headers = {"Range: bytes=0-0"}, .follow_redirects = true},
                  [](const HttpReply& head, std::span<const uint8_t>) { return head.status == kPartOfFile; });
  const std::optional<ContentRange> range = reply.range();
  if (!reply.ok() || reply.status != kPartOfFile || !range) return {};
  Probe found{.mark = reply.mark(), .total = range->whole};
  found.gives_parts = range->first == 0 && range->last == 0 && found.total > 0 && !found.mark.empty();
  return found;
}

// All that the connections share.
struct Work {
  HttpClient& client;
  std::string url, mark;
  fs::path partial;
  PartList& parts;
  const Descriptor& file;
  ProgressBar bar;
  int64_t total;
  std::atomic<int64_t> bytes;
  std::atomic<int> alive;  // connections
  std::atomic<bool> stop = false;
  std::mutex mutex{};
  std::string reason{};      // why it failed; guarded by mutex
  std::string given_up{};    // why a connection left its part to others
  bool disk_failed = false;  // it was not the network; the reason says all
  bool changed = false;      // the server has another file by now, or gives no parts any more

  void fail_with(std::string why, bool disk, bool other_file = false) {
    const std::lock_guard lock(mutex);
    if (reason.empty()) reason = std::move(why), disk_failed = disk, changed = other_file;
    stop = true;
  }
  // Servers that serve few connections at once refuse the others, which leave their parts to those that get on.
  void give_up(int64_t part, std::string why) {
    if (--alive == 0) return fail_with(std::move(why), false);
    parts.give_back(part);
    const std::lock_guard lock(mutex);
    given_up = std::move(why);
  }
  void add(int64_t count) {
    const int64_t now = bytes += count;
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock()) bar.update(now >> 20, fmt::format("MB of {}", total >> 20));
  }
};

// One request for the rest of one part.
class PartTransfer {
 public:
  PartTransfer(Work& work, int64_t begin, int64_t end) : work_(work), here_(begin), end_(end) {}

  // Throws Error where the disk fails.
  void run() {
    reply_ = work_.client.send({.url = work_.url,
                                .headers = {fmt::format("Range: bytes={}-{}", here_, end_ - 1), "If-Range: " + work_.mark},
                                .follow_redirects = true},
                               [&](const HttpReply& head, std::span<const uint8_t> piece) { return take(head, piece); });
  }

  int64_t here() const { return here_; }
  bool done() const { return here_ == end_; }
  bool is_other_file() const { return other_file_; }
  // Whether the same request may do better a little later.
  bool is_passing() const { return reply_.temporary && reply_.reached; }
  std::string reason() const {
    return reply_.failure.empty() ? fmt::format("the server answered {}", reply_.status) : reply_.failure;
  }

 private:
  bool take(const HttpReply& head, std::span<const uint8_t> piece) {
    if (work_.stop || (!begun_ && !begin(head))) return false;
    if (static_cast<int64_t>(piece.size()) > end_ - here_) return false;  // more than was asked for
    write_at(work_.file, here_, piece, work_.partial);
    here_ += static_cast<int64_t>(piece.size());
    work_.add(static_cast<int64_t>(piece.size()));
    return true;
  }

  bool begin(const HttpReply& head) {
    const ContentRange range = head.range().value_or(ContentRange{});
    begun_ = head.status == kPartOfFile && range.first == here_ && range.last == end_ - 1 && range.whole == work_.total;
    other_file_ = !begun_ && (head.status == kWholeFile || head.status == kPartOfFile);
    return begun_;
  }

  Work& work_;
  int64_t here_, end_;
  HttpReply reply_;
  bool begun_ = false, other_file_ = false;
};

// False: the work has failed.
bool fetch_part(Work& work, int64_t part) {
  int64_t here = work.parts.begin_of(part);
  auto pause = kFirstPause;
  for (int left = kTries; !work.stop;) {
    PartTransfer transfer(work, here, work.parts.end_of(part));
    transfer.run();
    if (transfer.done()) {
      if (::fdatasync(work.file.get()) != 0)
        return work.fail_with(fmt::format("cannot write {}: {}", work.partial.string(), std::strerror(errno)), true), false;
      work.parts.note(part);
      return true;
    }
    if (transfer.is_other_file()) return work.fail_with("the file has changed on the server", false, true), false;
    if (work.stop) return false;
    if (!transfer.is_passing()) return work.fail_with(transfer.reason(), false), false;
    if (transfer.here() > here) left = kTries, pause = kFirstPause;
    here = transfer.here();
    if (--left <= 0) return work.give_up(part, transfer.reason()), false;
    log_debug("part {} interrupted: {}; trying again", part, transfer.reason());
    for (auto slept = 0ms; slept < pause && !work.stop; slept += 50ms) std::this_thread::sleep_for(50ms);
    pause *= 2;
  }
  return false;
}

void refuse_too_large(int64_t total, int64_t missing, const fs::path& partial) {
  if (total > max_download_bytes())
    throw DownloadError(fmt::format("the file has more than {:.3g} GB ({:.3g} GB); set TESSERA_MAX_DOWNLOAD_GB if it should",
                                    static_cast<double>(max_download_bytes()) / kGigabyte,
                                    static_cast<double>(total) / kGigabyte));
  std::error_code error;
  const auto space = fs::space(partial.parent_path(), error);
  if (!error && static_cast<uint64_t>(missing) > space.available)
    throw DownloadError(fmt::format("the file has {:.3g} GB and the disk of {} has {:.3g} GB left",
                                    static_cast<double>(total) / kGigabyte, partial.parent_path().string(),
                                    static_cast<double>(space.available) / kGigabyte));
}

}  // namespace

void forget_download_in_parts(const fs::path& partial) {
  std::error_code ignored;
  fs::remove(list_of(partial), ignored);
  forget_download(partial);
}

Downloaded download_in_parts(const std::string& url, const fs::path& partial, Access access, const DownloadParts& options) {
  HttpClient client(kSilence);
  for (bool again = false;; again = true) {
    const Probe found = probe(client, url);
    if (!found.gives_parts || found.total < 2 * options.part_bytes || again) {
      std::error_code ignored;
      if (fs::remove(list_of(partial), ignored)) forget_download(partial);  // it has holes
      return download(url, partial, access);
    }
    std::error_code ignored;
    const bool has_list = fs::exists(list_of(partial), ignored);
    const bool has_file = fs::file_size(partial, ignored) == static_cast<uintmax_t>(found.total);
    if (!has_list || !has_file) forget_download_in_parts(partial);
    const Descriptor file = open_own_file(partial, access);
    TSR_CHECK(file.ok(), "cannot write {}: {}", partial.string(), std::strerror(errno));
    PartList parts(list_of(partial), found.mark, found.total, options.part_bytes, access);
    const int64_t there = parts.bytes_there();
    refuse_too_large(found.total, found.total - there, partial);
    TSR_CHECK(::ftruncate(file.get(), found.total) == 0, "cannot write {}: {}", partial.string(), std::strerror(errno));
    Work work{client,      url,   found.mark,         partial, parts, file, {"download", found.total >> 20},
              found.total, there, options.connections};
    const auto fetch_parts = [&] {
      try {
        for (std::optional<int64_t> part; !work.stop && (part = parts.take());) {
          if (!fetch_part(work, *part)) return;
        }
      } catch (const std::exception& error) {
        work.fail_with(error.what(), true);
      }
    };
    std::vector<std::thread> connections;
    start_threads(connections, options.connections - 1, fetch_parts);
    fetch_parts();
    for (std::thread& connection : connections) connection.join();
    if (parts.bytes_there() < found.total && work.reason.empty()) work.reason = work.given_up;
    if (work.reason.empty()) return {found.total, there > 0};
    if (work.disk_failed) throw Error(work.reason);
    if (!work.changed) throw DownloadError(work.reason);
    forget_download_in_parts(partial);
    log_info("{}; fetching it anew", work.reason);
  }
}

}  // namespace tessera
