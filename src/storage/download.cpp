#include "storage/download.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/progress_bar.h"
#include "storage/http_client.h"
#include "storage/write_at.h"

namespace tessera {
namespace {

constexpr int kTries = 5;
constexpr std::chrono::milliseconds kFirstPause{500};  // doubled after each try
constexpr std::chrono::seconds kSilence{60};
constexpr long kWhole = 200, kPart = 206, kBeyondTheEnd = 416;
constexpr double kGigabyte = 1e9, kMostGigabytes = 20;

fs::path mark_of(const fs::path& partial) {
  return partial.string() + ".mark";
}

// What one try came to.
struct Outcome {
  bool done = false, stale = false, worth_another = false;
  std::string reason;
};

// One request. Whether the answer is the whole file or the rest of it is known when its headers are.
class Transfer {
 public:
  Transfer(const std::string& url, const fs::path& partial, Access access)
      : url_(url), partial_(partial), access_(access), most_(max_download_bytes()) {
    file_ = open_own_file(partial, access);
    TSR_CHECK(file_.ok(), "cannot write {}: {}", partial.string(), std::strerror(errno));
    offset_ = here_ = ::lseek(file_.get(), 0, SEEK_END);
    mark_ = fs::exists(mark_of(partial)) ? read_text(mark_of(partial)) : "";
    if (mark_.empty()) offset_ = 0;  // no way to tell that it is the same file
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Outcome run(HttpClient& client) {
    HttpRequest request{.url = url_, .follow_redirects = true};
    if (offset_ > 0) request.headers = {fmt::format("Range: bytes={}-", offset_), "If-Range: " + mark_};
    const HttpReply reply = client.send(
        request, [&](const HttpReply& head, std::span<const uint8_t> piece) { return (begun_ || begin(head)) && take(piece); });
    if (!too_large_.empty()) {
      forget_download(partial_);
      throw DownloadError(too_large_);
    }
    if (reply.ok() && !begun_ && !refused_) begin(reply);  // an empty file: no piece of it came
    const bool whole = total_ < 0 || here_ == total_;
    Outcome outcome;
    outcome.done = reply.ok() && begun_ && whole;
    outcome.stale = resumed() && !begun_ && reply.failure.empty() && (reply.status == kBeyondTheEnd || reply.status == kPart);
    outcome.worth_another = (reply.temporary && reply.reached) || (reply.ok() && begun_ && !whole);
    outcome.reason = !reply.failure.empty() ? reply.failure
                     : begun_ && !whole     ? fmt::format("{} of {} bytes came", here_, total_)
                                            : fmt::format("the server answered {}", reply.status);
    return outcome;
  }
  int64_t bytes() const { return here_; }
  bool resumed() const { return offset_ > 0; }

 private:
  bool take(std::span<const uint8_t> piece) {
    if (!has_room(here_ + static_cast<int64_t>(piece.size()))) return false;
    write_at(file_, here_, piece, partial_);
    here_ += static_cast<int64_t>(piece.size());
    if (bar_) bar_->update(here_ >> 20, fmt::format("MB of {}", total_ >> 20));
    return true;
  }

  // At the first byte of an answer: places the writing and learns the size; false if it is not the file.
  bool begin(const HttpReply& head) {
    const std::optional<ContentRange> range = head.status == kPart ? head.range() : std::nullopt;
    refused_ = range ? range->first != offset_ : head.status != kWhole;
    if (refused_) return false;
    begun_ = true;
    if (!range) offset_ = 0;
    here_ = offset_;
    TSR_CHECK(::ftruncate(file_.get(), here_) == 0, "cannot write {}: {}", partial_.string(), std::strerror(errno));
    total_ = range ? range->whole : head.length();
    if (!has_room(total_)) return false;
    if (!range) keep_mark(head.mark());
    if (total_ > 0) bar_.emplace("download", total_ >> 20);
    return true;
  }

  // Whether a file of so many bytes may come; the disk is asked where all of them are known at the beginning.
  bool has_room(int64_t bytes) {
    if (bytes > most_) {
      too_large_ =
          fmt::format("the file has more than {:.3g} GB ({}); set TESSERA_MAX_DOWNLOAD_GB if it should", most_ / kGigabyte,
                      total_ >= 0 ? fmt::format("{:.3g} GB", total_ / kGigabyte) : "the server does not say how many");
    } else if (bytes == total_) {
      std::error_code error;
      const auto space = fs::space(partial_.parent_path(), error);
      if (!error && static_cast<uint64_t>(std::max<int64_t>(0, bytes - here_)) > space.available)
        too_large_ = fmt::format("the file has {:.3g} GB and the disk of {} has {:.3g} GB left", bytes / kGigabyte,
                                 partial_.parent_path().string(), static_cast<double>(space.available) / kGigabyte);
    }
    return too_large_.empty();
  }

  // Without a mark the next call starts anew; that is all a failure here may cost.
  void keep_mark(const std::string& mark) {
    std::error_code ignored;
    fs::remove(mark_of(partial_), ignored);
    try {
      if (!mark.empty()) write_file(mark_of(partial_), mark, access_);
    } catch (const Error& error) {
      log_debug("{}", error.what());
    }
  }

  const std::string& url_;
  fs::path partial_;
  Access access_;
  int64_t most_;
  std::string mark_;       // of what an earlier call left
  std::string too_large_;  // why it is
  Descriptor file_;
  int64_t offset_ = 0, here_ = 0, total_ = -1;
  bool begun_ = false, refused_ = false;
  std::optional<ProgressBar> bar_;
};

}  // namespace

void forget_download(const fs::path& partial) {
  std::error_code ignored;
  fs::remove(partial, ignored);
  fs::remove(mark_of(partial), ignored);
}

int64_t max_download_bytes() {
  const char* text = std::getenv("TESSERA_MAX_DOWNLOAD_GB");
  if (text == nullptr || *text == '\0') return static_cast<int64_t>(kMostGigabytes * kGigabyte);
  const std::string_view given = text;
  double gigabytes = 0;
  const auto [stop, error] = std::from_chars(given.data(), given.data() + given.size(), gigabytes);
  const bool fine = error == std::errc() && stop == given.data() + given.size() && gigabytes > 0 && gigabytes < kGigabyte;
  if (!fine) fail_usage("TESSERA_MAX_DOWNLOAD_GB={}: expected a number of gigabytes above 0, such as 50", given);
  return static_cast<int64_t>(gigabytes * kGigabyte);
}

Downloaded download(const std::string& url, const fs::path& partial, Access access) {
  HttpClient client(kSilence);
  auto pause = kFirstPause;
  for (int left = kTries - 1;; --left) {
    Outcome outcome;
    {
      Transfer transfer(url, partial, access);
      outcome = transfer.run(client);
      if (outcome.done) return {transfer.bytes(), transfer.resumed()};
    }
    // What is there is longer than the file, or the file has changed.
    if (outcome.stale) forget_download(partial);
    if (left == 0 || !(outcome.stale || outcome.worth_another)) {
      std::error_code error;
      if (fs::file_size(partial, error) == 0) forget_download(partial);
      throw DownloadError(outcome.reason);
    }
    log_info("download interrupted: {}; trying again", outcome.reason);
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

}  // namespace tessera
