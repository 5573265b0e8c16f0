#include "storage/web_folder.h"

#include <chrono>

#include "core/error.h"
#include "core/secrets.h"
#include "storage/retries.h"
#include "storage/sha256.h"

namespace tessera {

WebFolder::WebFolder(const Place& place, const TransferConfig& config)
    : place_(place), config_(config), client_(std::chrono::seconds(config.timeout_s)) {}

HttpRequest WebFolder::request(const std::string& name) const {
  return {.url = place_.url + percent_encoded(name, /*keep_slashes=*/true) + place_.query, .follow_redirects = true};
}

// Not by HEAD, which URLs that are signed for GET refuse. 403: what public buckets answer for what is not there.
std::vector<std::string> WebFolder::list(const std::string& prefix) {
  constexpr long kForbidden = 403, kAbsent = 404, kGone = 410, kBeyondTheEnd = 416;
  if (prefix.empty() || prefix.ends_with('/')) return {};
  HttpRequest request = this->request(prefix);
  request.headers = {"Range: bytes=0-0"};
  Retries retries(name_of(prefix), config_.retries);
  while (true) {
    const HttpReply reply = client_.send(request, [](const HttpReply&, std::span<const uint8_t>) { return false; });
    if (reply.ok() || reply.status == kBeyondTheEnd) return {prefix};  // the latter: it is empty
    if (reply.status == kForbidden || reply.status == kAbsent || reply.status == kGone) return {};
    if (!retries.another_of_temporary(reason(reply), reply, client_)) fail("{}: {}", name_of(prefix), reason(reply));
  }
}

std::string WebFolder::reason(const HttpReply& reply) const {
  return reply.failure.empty() ? fmt::format("the server answered {}", reply.status) : reply.failure;
}

std::string WebFolder::root() const {
  std::string shown = mask_urls(place_.url);
  while (shown.ends_with('/')) shown.pop_back();
  return shown;
}

// User, password and query may decide what is behind the URL; a hash of them tells nothing about them.
std::string WebFolder::identity() const {
  return root() + " " + sha256_of(place_.url + place_.query);
}

}  // namespace tessera
