#include "storage/http_request.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/error.h"
#include "core/files.h"
#include "storage/curl_setup.h"

namespace tessera {
namespace {

constexpr long kConnectSeconds = 30, kSilentSeconds = 60, kMostRedirects = 10;
constexpr std::array<long, 7> kBusy{408, 425, 429, 500, 502, 503, 504};
constexpr std::array<CURLcode, 8> kCut{CURLE_PARTIAL_FILE,       CURLE_RECV_ERROR, CURLE_SEND_ERROR,   CURLE_GOT_NOTHING,
                                       CURLE_OPERATION_TIMEDOUT, CURLE_HTTP2,      CURLE_HTTP2_STREAM, CURLE_SSL_CONNECT_ERROR};

template <class Values, class Value>
bool contains(const Values& values, Value value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

CurlHandle new_http_request(const std::string& url) {
  start_curl();
  CurlHandle curl(curl_easy_init(), curl_easy_cleanup);
  TSR_CHECK(curl != nullptr, "libcurl could not be started");
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, kMostRedirects);
  prepare_curl(curl.get(), url.starts_with("https://"));
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  return curl;
}

bool is_passing_fault(CURLcode code, long status) {
  return contains(kCut, code) || (code == CURLE_OK && contains(kBusy, status));
}

void AnswerHeaders::take(std::string_view line) {
  if (line.starts_with("HTTP/")) *this = {};
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name = lower(line.substr(0, colon));
  std::string value(line.substr(colon + 1));
  value.erase(0, value.find_first_not_of(" \t"));
  value.erase(value.find_last_not_of(" \t\r\n") + 1);
  if (name == "etag" && !value.starts_with("W/")) etag = value;  // weak ones do not promise the same bytes
  if (name == "last-modified") date = value;
  if (name == "content-range") range = value;
}

bool read_content_range(const std::string& text, int64_t& first, int64_t& last, int64_t& whole) {
  whole = -1;
  return std::sscanf(text.c_str(), "bytes %ld-%ld/%ld", &first, &last, &whole) >= 2;
}

long status_of(CURL* curl) {
  long code = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
  return code;
}

}  // namespace tessera
