#include "storage/object_service.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/printable.h"
#include "storage/retries.h"
#include "storage/s3_bucket.h"
#include "storage/web_folder.h"

namespace tessera {

HttpReply ObjectService::send(const HttpRequest& request, const std::string& what, bool nothing_at_404) {
  Retries retries(what, config().retries);
  while (true) {
    HttpReply reply = client().send(request);
    if (reply.ok() || (nothing_at_404 && reply.failure.empty() && reply.status == 404)) return reply;
    reply.temporary = is_temporary(reply);
    const std::string why = reason(reply);
    if (!retries.another_of_temporary(why, reply, client())) fail("{}: {}", printable(what), why);
  }
}

std::shared_ptr<ObjectService> open_object_service(const Place& place, const TransferConfig& config) {
  switch (place.kind) {
    case PlaceKind::kS3:
    case PlaceKind::kGoogle: return std::make_shared<S3Bucket>(place, settings_for(place), config);
    case PlaceKind::kWeb: return std::make_shared<WebFolder>(place, config);
    case PlaceKind::kFolder: break;
  }
  fail("{} is a folder, a URL was expected", printable(place.folder));
}

void check_file_name(const std::string& name, const std::string& root) {
  const std::filesystem::path path(name);
  const bool leaves =
      path.has_root_path() || std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
  TSR_CHECK(!name.empty() && !leaves && name.find('\0') == std::string::npos, "'{}' is no name of a file below {}",
            printable(name), root);
}

}  // namespace tessera
