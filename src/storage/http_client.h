#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/aws_settings.h"

namespace tessera {

struct HttpRequest {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url;
  std::vector<std::string> headers = {};      // "Name: value"
  std::span<const uint8_t> body = {};         // of PUT and POST
  const BucketSettings* signer = nullptr;     // who signs it, as S3 wants it; null or without keys: nobody
  bool follow_redirects = false;              // a signature is for one place
  size_t most_body_bytes = size_t{16} << 20;  // of an answer that is kept; a longer one is refused
};

// "bytes 0-99/1234"; `whole` is -1 where the server does not say.
struct ContentRange {
  int64_t first = -1, last = -1, whole = -1;
};

// What came back.
struct HttpReply {
  long status = 0;                                  // 0: no answer
  std::map<std::string, std::string> headers = {};  // by name, in small letters
  std::string body = {};                            // where nothing took it
  std::string failure = {};                         // of the connection; empty: an answer came, whole
  bool temporary = false;                           // another try may bring something else
  bool reached = true;                              // false: there was no connection, for now or for ever

  bool ok() const { return failure.empty() && status >= 200 && status < 300; }
  std::string header(const std::string& name) const;
  int64_t length() const;                     // of the body; -1 where the server does not say
  std::optional<ContentRange> range() const;  // of an answer that is a part
  // What tells that a later answer is of the same bytes: a strong ETag, else the date; may be empty.
  std::string mark() const;
};

// Takes a piece of the body of an answer that is good (2xx), whose status and headers are known by then; false: no more of it.
using TakeBody = std::function<bool(const HttpReply& head, std::span<const uint8_t> piece)>;

// Requests over connections that are kept open. Thread-safe; as many requests are under way as threads call.
class HttpClient {
 public:
  // timeout: for a connection to be made, and for how long less than a kilobyte per second may come.
  explicit HttpClient(std::chrono::seconds timeout);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // One request. What the network or the server does wrong is in the reply; rethrows what `take` throws.
  HttpReply send(const HttpRequest& request, const TakeBody& take = {});

  // Requests under way fail soon, and so do later ones: for who ends while threads wait.
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

 private:
  struct Handle;
  std::unique_ptr<Handle> take_handle();

  std::chrono::seconds timeout_;
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;
};

}  // namespace tessera
