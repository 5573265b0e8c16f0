#include "storage/place_url.h"

#include <cctype>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/secrets.h"

namespace tessera {
namespace {

constexpr std::string_view kBucketLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
constexpr size_t kLongestBucket = 255;  // of the oldest ones; today's have 63 at most

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  fail_usage("{} is no place of files: {}", printable(mask_urls(text)), why);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int small = std::tolower(static_cast<unsigned char>(c));
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0;
    decoded += code ? static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])) : text[i];
    if (code) i += 2;
  }
  return decoded;
}

std::string with_slash(std::string text) {
  if (!text.empty() && !text.ends_with('/')) text += '/';
  return text;
}

Place bucket_place(PlaceKind kind, const std::string& text, std::string_view rest) {
  const size_t slash = std::min(rest.find('/'), rest.size());
  Place place{.kind = kind};
  place.bucket = rest.substr(0, slash);
  place.prefix = with_slash(std::string(rest.substr(std::min(slash + 1, rest.size()))));
  if (place.bucket.find('@') != std::string::npos || place.bucket.find(':') != std::string::npos)
    refuse(text, "credentials and endpoints are no part of the URL; they are taken from the environment (docs/storage.md)");
  const bool fine = !place.bucket.empty() && place.bucket.size() <= kLongestBucket &&
                    place.bucket.find_first_not_of(kBucketLetters) == std::string::npos && place.bucket.front() != '.';
  if (!fine) refuse(text, "expected the name of a bucket, as in s3://bucket/folder");
  if (place.prefix.find_first_of("?#") != std::string::npos)
    refuse(text, "a ? or # would be part of the names of files; expected s3://bucket/folder");
  return place;
}

Place file_place(const std::string& text, std::string_view rest) {
  if (rest.starts_with("localhost/")) rest.remove_prefix(std::string_view("localhost").size());
  if (!rest.starts_with('/')) refuse(text, "expected an absolute path, as in file:///data/shards");
  return {.kind = PlaceKind::kFolder, .folder = percent_decoded(rest)};
}

Place web_place(const std::string& text, size_t begin) {
  const size_t query = std::min(text.find('?', begin), text.size());
  if (text.find('#', begin) != std::string::npos) refuse(text, "a # has no meaning here");
  if (std::min(text.find('/', begin), query) == begin) refuse(text, "expected a host, as in https://host/folder");
  return {.kind = PlaceKind::kWeb, .url = with_slash(text.substr(0, query)), .query = text.substr(query)};
}

}  // namespace

bool is_url(std::string_view text) {
  return text.find("://") != std::string_view::npos;
}

std::string below(const std::string& place, const std::string& name) {
  const size_t query = is_url(place) ? std::min(place.find('?'), place.size()) : place.size();
  std::string path = place.substr(0, query);
  if (!path.ends_with('/')) path += '/';
  return path + name + place.substr(query);
}

Place parse_place(const std::string& text) {
  const size_t mark = text.find("://");
  if (mark == std::string::npos) return {.kind = PlaceKind::kFolder, .folder = text};
  if (text.find('\0') != std::string::npos) refuse(text, "it holds a zero byte");
  const std::string scheme = lower(text.substr(0, mark));
  const std::string_view rest = std::string_view(text).substr(mark + 3);
  if (scheme == "s3") return bucket_place(PlaceKind::kS3, text, rest);
  if (scheme == "gs") return bucket_place(PlaceKind::kGoogle, text, rest);
  if (scheme == "file") return file_place(text, rest);
  if (scheme == "http" || scheme == "https") return web_place(text, mark + 3);
  refuse(text, "expected s3://, gs://, http(s):// or file://, or a path");
}

std::string percent_encoded(std::string_view text, bool keep_slashes) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    const bool plain = kPlain.find(c) != std::string_view::npos || (c == '/' && keep_slashes);
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

}  // namespace tessera
