#pragma once
#include <curl/curl.h>

#include <memory>
#include <string>
#include <string_view>

namespace tessera {

using CurlHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using CurlHeaders = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// A GET of `url` with what all of ours have in common: http and https, redirects are followed, but none from https to http;
// proxies and certificates are the environment's; a connection that stays silent ends. Any number of threads.
CurlHandle new_http_request(const std::string& url);

// Whether the same request may well succeed a little later: a cut connection, a busy server.
bool is_passing_fault(CURLcode code, long status);

// Of the last answer; those of a redirect do not count.
struct AnswerHeaders {
  std::string etag, date, range;

  // One line as it came.
  void take(std::string_view line);
  // What tells that a later answer is of the same file: a strong ETag, else the date; may be empty.
  const std::string& mark() const { return etag.empty() ? date : etag; }
};

// "bytes 0-99/1234". False where it is something else; `whole` is -1 where the server does not say.
bool read_content_range(const std::string& text, int64_t& first, int64_t& last, int64_t& whole);

long status_of(CURL* curl);

}  // namespace tessera
