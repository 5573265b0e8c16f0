// libFuzzer target: what an S3 server answers in XML, read as a list, an upload's number and an error. Only an Error may come
// out, and no more of a text than is asked for.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "storage/s3_xml.h"

namespace {

template <class Parse>
void try_parse(const Parse& parse) {
  try {
    parse();
  } catch (const tessera::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kMostKeys = 1000, kLongestKey = 1024, kLongestText = 4 * 400;  // 400 bytes, each made printable by four
  const std::string_view xml(reinterpret_cast<const char*>(data), size);
  try_parse([&] {
    const tessera::ListedPage page = tessera::parse_listed_page(xml);
    if (page.keys.size() > kMostKeys) std::abort();
    for (const std::string& key : page.keys) {
      if (key.empty() || key.size() > kLongestKey) std::abort();
    }
  });
  try_parse([&] {
    const std::string id = tessera::parse_upload_id(xml);
    if (id.empty() || id.size() > kLongestKey) std::abort();
  });
  if (const auto error = tessera::parse_s3_error(xml)) {
    if (error->code.size() > kLongestText || error->message.size() > kLongestText) std::abort();
  }
  return 0;
}
