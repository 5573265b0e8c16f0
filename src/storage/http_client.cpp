#include "storage/http_client.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <tuple>

#include "core/error.h"
#include "core/files.h"
#include "storage/curl_setup.h"
#include "storage/sha256.h"

namespace tessera {
namespace {

constexpr long kLongestConnect_s = 30, kMostRedirects = 10, kSlow_bytes_per_s = 1024;
constexpr std::array<long, 8> kBusy{408, 425, 429, 500, 502, 503, 504, 509};
constexpr std::array<CURLcode, 11> kCut{CURLE_PARTIAL_FILE,         CURLE_RECV_ERROR,         CURLE_SEND_ERROR,
                                        CURLE_GOT_NOTHING,          CURLE_OPERATION_TIMEDOUT, CURLE_HTTP2,
                                        CURLE_HTTP2_STREAM,         CURLE_SSL_CONNECT_ERROR,  CURLE_COULDNT_CONNECT,
                                        CURLE_COULDNT_RESOLVE_HOST, CURLE_WEIRD_SERVER_REPLY};

template <class Values, class Value>
bool contains(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

void append(Headers& headers, const std::string& line) {
  curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
  TSR_CHECK(longer != nullptr, "no memory for the headers of a request");
  std::ignore = headers.release();
  headers.reset(longer);
}

std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// One request on its way. libcurl calls back into it; no exception may cross libcurl.
class Exchange {
 public:
  Exchange(CURL* curl, const HttpRequest& request, const TakeBody& take, const std::atomic<bool>& cancelled)
      : curl_(curl), request_(request), take_(take), cancelled_(cancelled), headers_(nullptr, curl_slist_free_all) {}

  HttpReply run(std::chrono::seconds timeout) {
    prepare(timeout);
    const CURLcode code = curl_easy_perform(curl_);
    if (error_) std::rethrow_exception(error_);
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &reply_.status);
    if (code != CURLE_OK && !ended_) {
      reply_.failure = reason(code);
      reply_.temporary = contains(kCut, code);
      reply_.reached = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST;
    } else {
      reply_.temporary = contains(kBusy, reply_.status);
    }
    if (too_long_) {
      reply_.failure = fmt::format("the answer has more than {} bytes", request_.most_body_bytes);
      reply_.temporary = false;
    }
    return std::move(reply_);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_, option, value);
  }

  std::string reason(CURLcode code) const {
    if (code == CURLE_UNSUPPORTED_PROTOCOL && request_.url.starts_with("https://"))
      return "the server leads from https to another protocol, where the file could be exchanged on its way";
    return message_[0] != 0 ? message_.data() : curl_easy_strerror(code);
  }

  void prepare(std::chrono::seconds timeout) {
    curl_easy_reset(curl_);  // connections stay
    prepare_curl(curl_, request_.url.starts_with("https://"));
    set(CURLOPT_URL, request_.url.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_FOLLOWLOCATION, request_.follow_redirects ? 1L : 0L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    set(CURLOPT_CONNECTTIMEOUT, std::min<long>(kLongestConnect_s, timeout.count()));
    set(CURLOPT_LOW_SPEED_LIMIT, kSlow_bytes_per_s);
    set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(timeout.count()));
    set(CURLOPT_ERRORBUFFER, message_.data());
    set(CURLOPT_HEADERFUNCTION, &Exchange::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Exchange::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOPROGRESS, 0L);
    set(CURLOPT_XFERINFOFUNCTION, &Exchange::on_progress);
    set(CURLOPT_XFERINFODATA, this);
    prepare_method();
    sign();
    for (const std::string& line : request_.headers) append(headers_, line);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  void prepare_method() {
    if (request_.method == "HEAD") {
      set(CURLOPT_NOBODY, 1L);
    } else if (request_.method == "PUT") {
      set(CURLOPT_UPLOAD, 1L);
      set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_READFUNCTION, &Exchange::on_read);
      set(CURLOPT_READDATA, this);
      set(CURLOPT_SEEKFUNCTION, &Exchange::on_seek);
      set(CURLOPT_SEEKDATA, this);
    } else if (request_.method == "POST") {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
      set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : text_of(request_.body).data());
    } else if (request_.method != "GET") {
      set(CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    }
    if (request_.method == "PUT" || request_.method == "POST") append(headers_, "Content-Type: application/octet-stream");
  }

  // S3 wants the hash of the body among the headers. libcurl signs these as they stand here.
  void sign() {
    if (request_.signer == nullptr || !request_.signer->is_signed()) return;
    const BucketSettings& who = *request_.signer;
    set(CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", who.region).c_str());
    set(CURLOPT_USERNAME, who.key_id.c_str());
    set(CURLOPT_PASSWORD, who.secret.c_str());
    append(headers_, "x-amz-content-sha256: " + sha256_of(text_of(request_.body)));
    if (!who.token.empty()) append(headers_, "x-amz-security-token: " + who.token);
  }

  template <class Action>
  size_t guarded(size_t otherwise, Action action) {
    try {
      return action();
    } catch (...) {
      error_ = std::current_exception();
      return otherwise;
    }
  }

  static size_t on_header(const char* data, size_t, size_t length, Exchange* self) {
    return self->guarded(0, [&] {
      const std::string_view line(data, length);
      if (line.starts_with("HTTP/")) self->reply_.headers.clear();  // those of a redirect do not count
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) return length;
      std::string value(line.substr(colon + 1));
      value.erase(0, value.find_first_not_of(" \t"));
      value.erase(value.find_last_not_of(" \t\r\n") + 1);
      self->reply_.headers[lower(line.substr(0, colon))] = std::move(value);
      return length;
    });
  }

  static size_t on_body(const char* data, size_t, size_t length, Exchange* self) {
    return self->guarded(0, [&]() -> size_t {
      HttpReply& reply = self->reply_;
      curl_easy_getinfo(self->curl_, CURLINFO_RESPONSE_CODE, &reply.status);
      if (self->take_ && reply.status >= 200 && reply.status < 300) {
        self->ended_ = !self->take_(reply, {reinterpret_cast<const uint8_t*>(data), length});
        return self->ended_ ? 0 : length;
      }
      self->too_long_ = reply.body.size() + length > self->request_.most_body_bytes;
      if (self->too_long_) return 0;
      reply.body.append(data, length);
      return length;
    });
  }

  static size_t on_read(char* to, size_t, size_t most, Exchange* self) {
    const size_t count = std::min(most, self->request_.body.size() - self->sent_);
    std::memcpy(to, self->request_.body.data() + self->sent_, count);
    self->sent_ += count;
    return count;
  }

  static int on_seek(Exchange* self, curl_off_t offset, int origin) {
    if (origin != SEEK_SET || offset < 0 || offset > static_cast<curl_off_t>(self->request_.body.size()))
      return CURL_SEEKFUNC_FAIL;
    self->sent_ = static_cast<size_t>(offset);
    return CURL_SEEKFUNC_OK;
  }

  static int on_progress(Exchange* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return self->cancelled_ ? 1 : 0; }

  CURL* curl_;
  const HttpRequest& request_;
  const TakeBody& take_;
  const std::atomic<bool>& cancelled_;
  Headers headers_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  HttpReply reply_;
  size_t sent_ = 0;
  bool ended_ = false, too_long_ = false;
  std::exception_ptr error_;
};

}  // namespace

struct HttpClient::Handle {
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl{curl_easy_init(), curl_easy_cleanup};
};

std::string HttpReply::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

int64_t HttpReply::length() const {
  constexpr int64_t kNoLength = int64_t{1} << 60;  // bytes that no file has
  const std::string text = header("content-length");
  int64_t length = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const bool fine = error == std::errc() && end == text.data() + text.size() && length >= 0 && length < kNoLength;
  return fine ? length : -1;
}

std::optional<ContentRange> HttpReply::range() const {
  ContentRange found;
  const int read = std::sscanf(header("content-range").c_str(), "bytes %ld-%ld/%ld", &found.first, &found.last, &found.whole);
  return read >= 2 ? std::optional(found) : std::nullopt;
}

std::string HttpReply::mark() const {
  const std::string etag = header("etag");
  return etag.empty() || etag.starts_with("W/") ? header("last-modified") : etag;  // weak ones do not promise the same bytes
}

HttpClient::HttpClient(std::chrono::seconds timeout) : timeout_(timeout) {
  start_curl();
}

HttpClient::~HttpClient() = default;

std::unique_ptr<HttpClient::Handle> HttpClient::take_handle() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  auto handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

HttpReply HttpClient::send(const HttpRequest& request, const TakeBody& take) {
  auto handle = take_handle();
  TSR_CHECK(handle->curl != nullptr, "libcurl could not be started");
  HttpReply reply = Exchange(handle->curl.get(), request, take, cancelled_).run(timeout_);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(handle));
  return reply;
}

}  // namespace tessera
