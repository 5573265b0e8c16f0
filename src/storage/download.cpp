#include "storage/download.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/progress_bar.h"
#include "storage/curl_setup.h"

namespace tessera {
namespace {

constexpr int kTries = 5;
constexpr std::chrono::milliseconds kFirstPause{500};  // doubled after each try
constexpr long kConnectSeconds = 30, kSilentSeconds = 60, kMostRedirects = 10;
constexpr long kWhole = 200, kPart = 206, kBeyondTheEnd = 416;
constexpr std::array<long, 7> kBusy{408, 425, 429, 500, 502, 503, 504};
constexpr std::array<CURLcode, 8> kCut{CURLE_PARTIAL_FILE,       CURLE_RECV_ERROR, CURLE_SEND_ERROR,   CURLE_GOT_NOTHING,
                                       CURLE_OPERATION_TIMEDOUT, CURLE_HTTP2,      CURLE_HTTP2_STREAM, CURLE_SSL_CONNECT_ERROR};
constexpr double kGigabyte = 1e9, kMostGigabytes = 20;

fs::path mark_of(const fs::path& partial) {
  return partial.string() + ".mark";
}

template <class Values, class Value>
bool contains(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// What one try came to.
struct Outcome {
  CURLcode code = CURLE_OK;
  long status = 0;
  bool refused = false;  // the answer was not the file, nor the rest of it
  std::string reason;
  bool done() const { return code == CURLE_OK && !refused && (status == kWhole || status == kPart); }
  bool worth_another() const { return contains(kCut, code) || (code == CURLE_OK && contains(kBusy, status)); }
};

// One request. Whether the answer is the whole file or the rest of it is known when its headers are.
class Transfer {
 public:
  Transfer(const std::string& url, const fs::path& partial, Access access)
      : partial_(partial),
        access_(access),
        secure_(url.starts_with("https://")),
        most_(max_download_bytes()),
        curl_(curl_easy_init(), curl_easy_cleanup),
        headers_(nullptr, curl_slist_free_all) {
    TSR_CHECK(curl_ != nullptr, "libcurl could not be started");
    file_ = open_own_file(partial, access);
    TSR_CHECK(file_.ok(), "cannot write {}: {}", partial.string(), std::strerror(errno));
    offset_ = here_ = ::lseek(file_.get(), 0, SEEK_END);
    const std::string mark = fs::exists(mark_of(partial)) ? read_text(mark_of(partial)) : "";
    if (mark.empty()) offset_ = 0;  // no way to tell that it is the same file
    set(CURLOPT_URL, url.c_str());
    if (offset_ > 0) {
      // Not CURLOPT_RESUME_FROM: libcurl would take a whole file for an answer as an error.
      set(CURLOPT_RANGE, fmt::format("{}-", offset_).c_str());
      headers_.reset(curl_slist_append(nullptr, ("If-Range: " + mark).c_str()));
      set(CURLOPT_HTTPHEADER, headers_.get());
    }
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    prepare_curl(curl_.get(), secure_);
    set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, this);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  Outcome run() {
    Outcome outcome;
    outcome.code = curl_easy_perform(curl_.get());
    outcome.status = status();
    if (disk_error_ != 0) fail("cannot write {}: {}", partial_.string(), std::strerror(disk_error_));
    if (!too_large_.empty()) {
      forget_download(partial_);
      throw DownloadError(too_large_);
    }
    outcome.refused = refused_;
    if (refused_) outcome.code = CURLE_OK;                      // we ended it ourselves: an error page is no weight file
    if (outcome.done() && !begun_) outcome.refused = !begin();  // an empty file
    if (outcome.done() && total_ >= 0 && here_ != total_) outcome.code = CURLE_PARTIAL_FILE;
    outcome.reason = reason(outcome);
    return outcome;
  }
  int64_t bytes() const { return here_; }
  bool resumed() const { return offset_ > 0; }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }
  long status() const {
    long code = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  std::string reason(const Outcome& outcome) const {
    if (outcome.code == CURLE_OK) return fmt::format("the server answered {}", outcome.status);
    if (outcome.code == CURLE_UNSUPPORTED_PROTOCOL && secure_)
      return "the server leads from https to another protocol, where the file could be exchanged on its way";
    return message_[0] != 0 ? message_.data() : curl_easy_strerror(outcome.code);
  }

  static size_t on_header(const char* data, size_t, size_t length, Transfer* self) {
    const std::string_view line(data, length);
    if (line.starts_with("HTTP/")) self->etag_ = self->date_ = self->range_ = "";  // a redirect's own headers do not count
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return length;
    const std::string name = lower(line.substr(0, colon));
    std::string value(line.substr(colon + 1));
    value.erase(0, value.find_first_not_of(" \t"));
    value.erase(value.find_last_not_of(" \t\r\n") + 1);
    if (name == "etag" && !value.starts_with("W/")) self->etag_ = value;  // weak ones do not promise the same bytes
    if (name == "last-modified") self->date_ = value;
    if (name == "content-range") self->range_ = value;
    return length;
  }

  static size_t on_body(const char* data, size_t, size_t length, Transfer* self) {
    if (!self->begun_ && !self->begin()) return 0;
    if (!self->has_room(self->here_ + static_cast<int64_t>(length))) return 0;
    size_t done = 0;
    while (done < length) {
      const ssize_t put = ::pwrite(self->file_.get(), data + done, length - done, self->here_);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        self->disk_error_ = errno;
        return 0;
      }
      done += static_cast<size_t>(put);
      self->here_ += put;
    }
    if (self->bar_) self->bar_->update(self->here_ >> 20, fmt::format("MB of {}", self->total_ >> 20));
    return length;
  }

  // At the first byte of an answer: places the writing and learns the size; false if it is not the file.
  bool begin() {
    const long code = status();
    int64_t first = 0, last = 0, whole = -1;
    const bool rest = code == kPart && std::sscanf(range_.c_str(), "bytes %ld-%ld/%ld", &first, &last, &whole) >= 2;
    if ((code != kWhole && !rest) || (rest && first != offset_)) {
      refused_ = true;
      return false;
    }
    begun_ = true;
    if (!rest) offset_ = 0;
    here_ = offset_;
    if (::ftruncate(file_.get(), here_) != 0) {
      disk_error_ = errno;
      return false;
    }
    curl_off_t length = -1;
    curl_easy_getinfo(curl_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    total_ = rest ? whole : length;
    if (!has_room(total_)) return false;
    if (!rest) keep_mark(etag_.empty() ? date_ : etag_);
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

  // Without a mark the next call starts anew; that is all a failure here may cost (and no exception may cross libcurl).
  void keep_mark(const std::string& mark) {
    std::error_code ignored;
    fs::remove(mark_of(partial_), ignored);
    try {
      if (!mark.empty()) write_file(mark_of(partial_), mark, access_);
    } catch (const Error& error) {
      log_debug("{}", error.what());
    }
  }

  fs::path partial_;
  Access access_;
  bool secure_;
  int64_t most_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::string etag_, date_, range_;
  std::string too_large_;  // why it is
  Descriptor file_;
  int disk_error_ = 0;
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
  start_curl();
  bool resumed = false;
  auto pause = kFirstPause;
  for (int left = kTries - 1;; --left) {
    Outcome outcome;
    {
      Transfer transfer(url, partial, access);
      outcome = transfer.run();
      resumed = transfer.resumed();
      if (outcome.done()) return {transfer.bytes(), resumed};
    }
    // What is there is longer than the file, or the file has changed.
    const bool stale = outcome.code == CURLE_OK && (outcome.status == kBeyondTheEnd || outcome.status == kPart) && resumed;
    if (stale) forget_download(partial);
    if (left == 0 || !(stale || outcome.worth_another())) {
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
