#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// What S3 says in XML. Texts come from a server: what is not as it should be throws Error.

struct ListedPage {
  std::vector<std::string> keys;
  std::string next;  // the continuation token; empty: this was the last page
};
ListedPage parse_listed_page(std::string_view xml);

std::string parse_upload_id(std::string_view xml);

// The error a text tells of; nothing where it is no such text.
struct S3Error {
  std::string code, message;  // printable, and not long
};
std::optional<S3Error> parse_s3_error(std::string_view xml);

// What makes one object of parts, given by their ETags in order.
std::string complete_upload_xml(const std::vector<std::string>& etags);

}  // namespace tessera
