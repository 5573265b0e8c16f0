#pragma once
#include <string>
#include <string_view>

namespace tessera {

// Where files lie, as a user writes it.
enum class PlaceKind { kFolder, kS3, kGoogle, kWeb };

struct Place {
  PlaceKind kind = PlaceKind::kFolder;
  std::string folder = {};  // kFolder: a path
  std::string bucket = {};  // kS3, kGoogle
  std::string prefix = {};  // kS3, kGoogle: of all keys; empty, or ends with '/'
  std::string url = {};     // kWeb: up to the query, ends with '/'
  std::string query = {};   // kWeb: "?sig=...", goes behind each file's name; or empty
};

// s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, http(s)://..., file:///PATH or a path. Throws UsageError.
Place parse_place(const std::string& text);

// A folder or file below a place that is written so; a query stays at the end.
std::string below(const std::string& place, const std::string& name);

// Whether a text is a URL of any kind rather than a path.
bool is_url(std::string_view text);

// All but letters, digits and "-._~" as %XX; also '/', unless it is kept.
std::string percent_encoded(std::string_view text, bool keep_slashes);

}  // namespace tessera
