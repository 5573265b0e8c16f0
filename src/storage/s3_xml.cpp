#include "storage/s3_xml.h"

#include <pugixml.hpp>
#include <sstream>

#include "core/error.h"
#include "core/printable.h"

namespace tessera {
namespace {

constexpr size_t kMostText = 400;     // of a message
constexpr size_t kLongestKey = 1024;  // as S3 allows
constexpr size_t kMostKeys = 1000;    // of a page

// Without DTDs and entities of its own, which pugixml does not follow.
pugi::xml_document parse(std::string_view xml) {
  pugi::xml_document document;
  const auto result = document.load_buffer(xml.data(), xml.size());
  TSR_CHECK(result, "the server's answer is no XML: {}", result.description());
  return document;
}

std::string shortened(const char* text) {
  return printable(std::string_view(text).substr(0, kMostText));
}

std::string text_of(const pugi::xml_document& document) {
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

}  // namespace

ListedPage parse_listed_page(std::string_view xml) {
  const pugi::xml_document document = parse(xml);
  const pugi::xml_node root = document.child("ListBucketResult");
  TSR_CHECK(root, "the server's answer is no list of a bucket");
  ListedPage page;
  for (const pugi::xml_node& entry : root.children("Contents")) {
    std::string key = entry.child_value("Key");
    TSR_CHECK(!key.empty() && key.size() <= kLongestKey && page.keys.size() < kMostKeys,
              "the server's list of a bucket is damaged: a key of {} bytes at place {}", key.size(), page.keys.size());
    page.keys.push_back(std::move(key));
  }
  const std::string_view more = root.child_value("IsTruncated");
  if (more == "true") {
    page.next = root.child_value("NextContinuationToken");
    TSR_CHECK(!page.next.empty(), "the server's list of a bucket is cut and does not say how it goes on");
  }
  return page;
}

std::string parse_upload_id(std::string_view xml) {
  const pugi::xml_document document = parse(xml);
  std::string id = document.child("InitiateMultipartUploadResult").child_value("UploadId");
  TSR_CHECK(!id.empty() && id.size() <= kLongestKey, "the server gave no number to an upload");
  return id;
}

std::optional<S3Error> parse_s3_error(std::string_view xml) {
  pugi::xml_document document;
  if (xml.empty() || !document.load_buffer(xml.data(), xml.size())) return std::nullopt;
  const pugi::xml_node error = document.child("Error");
  if (!error) return std::nullopt;
  return S3Error{shortened(error.child_value("Code")), shortened(error.child_value("Message"))};
}

std::string complete_upload_xml(const std::vector<std::string>& etags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  for (size_t i = 0; i < etags.size(); ++i) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text() = static_cast<unsigned>(i + 1);
    part.append_child("ETag").text() = etags[i].c_str();
  }
  return text_of(document);
}

}  // namespace tessera
