#include "storage/parallel_download.h"

#include <array>
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
#include "storage/http_request.h"
#include "storage/part_list.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr int kTries = 5;            // of a part that does not get on
constexpr auto kFirstPause = 500ms;  // doubled after each
constexpr long kPart = 206;
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

size_t keep_header(const char* data, size_t, size_t length, AnswerHeaders* answer) {
  answer->take({data, length});
  return length;
}

Probe probe(const std::string& url) {
  const CurlHandle curl = new_http_request(url);
  AnswerHeaders answer;
  struct Body {
    CURL* curl;
    static size_t take(const char*, size_t, size_t length, Body* self) { return status_of(self->curl) == kPart ? length : 0; }
  } body{curl.get()};
  curl_easy_setopt(curl.get(), CURLOPT_RANGE, "0-0");
  curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, &keep_header);
  curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &answer);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Body::take);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &body);
  Probe found;
  int64_t first = -1, last = -1;
  if (curl_easy_perform(curl.get()) != CURLE_OK || status_of(curl.get()) != kPart) return found;
  const bool right = read_content_range(answer.range, first, last, found.total) && first == 0 && last == 0;
  found.mark = answer.mark();
  found.gives_parts = right && found.total > 0 && !found.mark.empty();
  return found;
}

// All that the connections share.
struct Work {
  std::string url, mark;
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
  bool disk_failed = false;  // it was not the network
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
  PartTransfer(Work& work, int64_t begin, int64_t end)
      : work_(work), here_(begin), end_(end), curl_(new_http_request(work.url)) {
    headers_.reset(curl_slist_append(nullptr, ("If-Range: " + work.mark).c_str()));
    set(CURLOPT_RANGE, fmt::format("{}-{}", begin, end - 1).c_str());
    set(CURLOPT_HTTPHEADER, headers_.get());
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_HEADERFUNCTION, &keep_header);
    set(CURLOPT_HEADERDATA, &answer_);
    set(CURLOPT_WRITEFUNCTION, &PartTransfer::on_body);
    set(CURLOPT_WRITEDATA, this);
  }

  void run() { code_ = curl_easy_perform(curl_.get()); }

  int64_t here() const { return here_; }
  bool done() const { return here_ == end_; }
  int disk_error() const { return disk_error_; }
  bool is_other_file() const { return other_file_; }
  // Whether the same request may do better a little later.
  bool is_passing() const {
    const bool answered = refused_ || (code_ == CURLE_OK && !begun_);
    return answered ? is_passing_fault(CURLE_OK, status_of(curl_.get())) : is_passing_fault(code_, 0);
  }
  std::string reason() const {
    if (refused_ || code_ == CURLE_OK) return fmt::format("the server answered {}", status_of(curl_.get()));
    return message_[0] != 0 ? message_.data() : curl_easy_strerror(code_);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  bool begin() {
    const long status = status_of(curl_.get());
    int64_t first = -1, last = -1, whole = -1;
    const bool right = status == kPart && read_content_range(answer_.range, first, last, whole) && first == here_ &&
                       last == end_ - 1 && whole == work_.total;
    refused_ = !right;
    other_file_ = !right && (status == 200 || status == kPart);
    return begun_ = right;
  }

  static size_t on_body(const char* data, size_t, size_t length, PartTransfer* self) {
    if (self->work_.stop || (!self->begun_ && !self->begin())) return 0;
    if (static_cast<int64_t>(length) > self->end_ - self->here_) return 0;  // more than was asked for
    for (size_t done = 0; done < length;) {
      const ssize_t put = ::pwrite(self->work_.file.get(), data + done, length - done, self->here_);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        self->disk_error_ = errno;
        return 0;
      }
      done += static_cast<size_t>(put);
      self->here_ += put;
    }
    self->work_.add(static_cast<int64_t>(length));
    return length;
  }

  Work& work_;
  int64_t here_, end_;
  CurlHandle curl_;
  CurlHeaders headers_{nullptr, curl_slist_free_all};
  AnswerHeaders answer_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  CURLcode code_ = CURLE_OK;
  int disk_error_ = 0;
  bool begun_ = false, refused_ = false, other_file_ = false;
};

// False: the work has failed.
bool fetch_part(Work& work, int64_t part) {
  int64_t here = work.parts.begin_of(part);
  auto pause = kFirstPause;
  for (int left = kTries; !work.stop;) {
    PartTransfer transfer(work, here, work.parts.end_of(part));
    transfer.run();
    if (transfer.disk_error() != 0) return work.fail_with(std::strerror(transfer.disk_error()), true), false;
    if (transfer.done()) {
      if (::fdatasync(work.file.get()) != 0) return work.fail_with(std::strerror(errno), true), false;
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
  for (bool again = false;; again = true) {
    const Probe found = probe(url);
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
    Work work{url, found.mark, parts, file, {"download", found.total >> 20}, found.total, there, options.connections};
    std::vector<std::thread> connections;
    for (int i = 0; i < options.connections; ++i) {
      connections.emplace_back([&] {
        try {
          for (std::optional<int64_t> part; !work.stop && (part = parts.take());) {
            if (!fetch_part(work, *part)) return;
          }
        } catch (const std::exception& error) {
          work.fail_with(error.what(), true);
        }
      });
    }
    for (std::thread& connection : connections) connection.join();
    if (parts.bytes_there() < found.total && work.reason.empty()) work.reason = work.given_up;
    if (work.reason.empty()) return {found.total, there > 0};
    if (work.disk_failed) fail("cannot write {}: {}", partial.string(), work.reason);
    if (!work.changed) throw DownloadError(work.reason);
    forget_download_in_parts(partial);
    log_info("{}; fetching it anew", work.reason);
  }
}

}  // namespace tessera
