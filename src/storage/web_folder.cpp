#include "storage/web_folder.h"

#include <fmt/format.h>

#include <chrono>

#include "core/secrets.h"
#include "storage/sha256.h"

namespace tessera {

WebFolder::WebFolder(const Place& place, const TransferConfig& config)
    : place_(place), config_(config), client_(std::chrono::seconds(config.timeout_s)) {}

HttpRequest WebFolder::request(const std::string& name) const {
  return {.url = place_.url + percent_encoded(name, /*keep_slashes=*/true) + place_.query, .follow_redirects = true};
}

std::vector<std::string> WebFolder::list(const std::string& prefix) {
  if (prefix.empty() || prefix.ends_with('/')) return {};
  HttpRequest request = this->request(prefix);
  request.method = "HEAD";
  if (!send(request, name_of(prefix), /*nothing_at_404=*/true).ok()) return {};
  return {prefix};
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
