#include "storage/s3_bucket.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "storage/s3_xml.h"

namespace tessera {
namespace {

constexpr size_t kPartSize = size_t{16} << 20, kMostParts = 10'000;  // the latter as S3 allows
constexpr int kMostPages = 100'000;                                  // of a list: 10^8 names

std::string bucket_url(const Place& place, const BucketSettings& settings) {
  if (!settings.endpoint.empty()) return settings.endpoint + "/" + place.bucket + "/";
  if (place.kind == PlaceKind::kGoogle) return "https://storage.googleapis.com/" + place.bucket + "/";
  const std::string domain =
      fmt::format("s3.{}.amazonaws.com{}", settings.region, settings.region.starts_with("cn-") ? ".cn" : "");
  // A certificate for *.s3... holds for one label.
  const bool is_label = place.bucket.find_first_of("._") == std::string::npos;
  return is_label ? fmt::format("https://{}.{}/", place.bucket, domain) : fmt::format("https://{}/{}/", domain, place.bucket);
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

BucketSettings settings_for(const Place& place) {
  return place.kind == PlaceKind::kGoogle ? google_settings(settings_of_user()) : s3_settings(settings_of_user());
}

S3Bucket::S3Bucket(const Place& place, BucketSettings settings, const TransferConfig& config)
    : place_(place),
      settings_(std::move(settings)),
      config_(config),
      url_(bucket_url(place_, settings_)),
      client_(std::chrono::seconds(config.timeout_s)) {}

HttpRequest S3Bucket::request(const std::string& name) const {
  return {.url = url_ + percent_encoded(place_.prefix + name, /*keep_slashes=*/true), .signer = &settings_};
}

HttpRequest S3Bucket::bucket_request(const std::string& query) const {
  return {.url = url_ + "?" + query, .signer = &settings_};
}

std::string S3Bucket::root() const {
  std::string shown = fmt::format("{}://{}/{}", place_.kind == PlaceKind::kGoogle ? "gs" : "s3", place_.bucket, place_.prefix);
  while (shown.ends_with('/')) shown.pop_back();
  return shown;
}

std::string S3Bucket::identity() const {
  return url_ + place_.prefix;
}

// The signature holds for the query as it stands: its parameters are in alphabetical order.
std::vector<std::string> S3Bucket::list(const std::string& prefix) {
  std::vector<std::string> names;
  std::string token;
  for (int page_number = 0; page_number < kMostPages; ++page_number) {
    std::string query = token.empty() ? "" : "continuation-token=" + percent_encoded(token, /*keep_slashes=*/false) + "&";
    query += "list-type=2&prefix=" + percent_encoded(place_.prefix + prefix, /*keep_slashes=*/false);
    const std::string what = "the list of " + name_of(prefix);
    const ListedPage page = parse_listed_page(send(bucket_request(query), what).body);
    for (const std::string& key : page.keys) {
      TSR_CHECK(key.starts_with(place_.prefix), "{}: the server lists {}, which lies elsewhere", what, printable(key));
      if (!key.ends_with('/')) names.push_back(key.substr(place_.prefix.size()));  // else it marks an empty folder
    }
    if (page.next.empty()) {
      std::sort(names.begin(), names.end());
      return names;
    }
    token = page.next;
  }
  fail("the list of {} has no end", name_of(prefix));
}

std::string S3Bucket::reason(const HttpReply& reply) const {
  if (!reply.failure.empty()) return reply.failure;
  const auto error = parse_s3_error(reply.body);
  std::string text = fmt::format("the server answered {}", reply.status);
  if (error) text += fmt::format(" ({}: {})", error->code, error->message);
  const std::string region = printable(reply.header("x-amz-bucket-region"));
  if (!region.empty() && region != settings_.region)
    return text + fmt::format("; the bucket is in region {}: set AWS_REGION={}", region, region);
  if (reply.status != 401 && reply.status != 403) return text;
  if (settings_.is_signed()) return text + "; signed with the credentials of " + settings_.source;
  return text + (place_.kind == PlaceKind::kGoogle
                     ? "; not signed, as GCS_KEY and GCS_SECRET are not set"
                     : "; not signed, as no credentials are set (AWS_ACCESS_KEY_ID, AWS_PROFILE; docs/storage.md)");
}

bool S3Bucket::is_temporary(const HttpReply& reply) const {
  static constexpr std::array<std::string_view, 4> kCodes{"RequestTimeout", "SlowDown", "InternalError", "ServiceUnavailable"};
  if (reply.temporary) return true;
  const auto error = parse_s3_error(reply.body);
  return error && std::find(kCodes.begin(), kCodes.end(), error->code) != kCodes.end();
}

void S3Bucket::remove(const std::string& name) {
  HttpRequest request = this->request(name);
  request.method = "DELETE";
  send(request, name_of(name), /*nothing_at_404=*/true);
}

void S3Bucket::put(const std::string& name, std::span<const uint8_t> content) {
  if (content.size() > kPartSize) return put_parts(name, content);
  HttpRequest request = this->request(name);
  request.method = "PUT";
  request.body = content;
  send(request, name_of(name));
}

// Parts of an upload that is not completed are nobody's object.
void S3Bucket::put_parts(const std::string& name, std::span<const uint8_t> content) {
  const std::string what = name_of(name), url = this->request(name).url;
  const auto ask = [&](const char* method, const std::string& query, std::span<const uint8_t> body) {
    return send({.method = method, .url = url + "?" + query, .body = body, .signer = &settings_}, what);
  };
  const std::string id = percent_encoded(parse_upload_id(ask("POST", "uploads=", {}).body), /*keep_slashes=*/false);
  try {
    const size_t size = std::max(kPartSize, content.size() / kMostParts + 1);
    std::vector<std::string> etags;
    for (size_t at = 0; at < content.size(); at += size) {
      const auto part = content.subspan(at, std::min(size, content.size() - at));
      const HttpReply reply = ask("PUT", fmt::format("partNumber={}&uploadId={}", etags.size() + 1, id), part);
      etags.push_back(reply.header("etag"));
    }
    const std::string order = complete_upload_xml(etags);
    const HttpReply reply = ask("POST", "uploadId=" + id, bytes_of(order));
    // The answer begins before the parts are one: it may be good and tell of an error.
    if (const auto error = parse_s3_error(reply.body)) fail("{}: {}: {}", what, error->code, error->message);
  } catch (const Error&) {
    try {
      send({.method = "DELETE", .url = url + "?uploadId=" + id, .signer = &settings_}, what, /*nothing_at_404=*/true);
    } catch (const Error& e) {
      log_debug("{}", e.what());
    }
    throw;
  }
}

}  // namespace tessera
