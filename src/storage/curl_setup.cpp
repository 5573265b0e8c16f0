#include "storage/curl_setup.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

namespace tessera {
namespace {

// Debian's libcurl knows Debian's place; a bundled one meets other systems.
constexpr std::array<const char*, 4> kCertificates{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                                   "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

std::string certificates() {
  if (const char* own = std::getenv("SSL_CERT_FILE"); own != nullptr && *own != '\0') return own;
  const auto* const found =
      std::find_if(kCertificates.begin(), kCertificates.end(), [](const char* file) { return std::filesystem::exists(file); });
  return found == kCertificates.end() ? "" : *found;
}

}  // namespace

void start_curl() {
  static std::once_flag started;
  std::call_once(started, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

void prepare_curl(CURL* handle, bool secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
#else
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, static_cast<long>(CURLPROTO_HTTPS | (secure ? 0 : CURLPROTO_HTTP)));
#endif
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, "tessera");
  if (const std::string trusted = certificates(); !trusted.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, trusted.c_str());
}

}  // namespace tessera
