#include "storage/file_store.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "storage/object_service.h"
#include "storage/place_url.h"
#include "storage/remote_store.h"

namespace tessera {
namespace {

class Folder : public FileStore {
 public:
  explicit Folder(fs::path root) : root_(std::move(root)) {
    TSR_CHECK(fs::is_directory(root_), "no such folder: {}", root_.string());
  }

  Blob open(const std::string& name, const FileSum& sum) override {
    check_file_name(name, root());
    Blob file = map_file(root_ / name);
    TSR_CHECK(sum.bytes < 0 || static_cast<int64_t>(file.size()) == sum.bytes,
              "{} has {} bytes, expected {}; it was cut or exchanged, get it again", (root_ / name).string(), file.size(),
              sum.bytes);
    return file;
  }

  std::vector<std::string> list(const std::string& prefix) override {
    std::vector<std::string> names;
    for (const fs::path& file : list_files(root_)) {
      std::string name = file.lexically_relative(root_).generic_string();
      if (name.starts_with(prefix)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string root() const override { return root_.string(); }

 private:
  fs::path root_;
};

}  // namespace

std::shared_ptr<FileStore> open_file_store(const std::string& root, const RemoteOptions& options) {
  const Place place = parse_place(root);
  if (place.kind == PlaceKind::kFolder) return std::make_shared<Folder>(place.folder);
  return std::make_shared<RemoteStore>(open_object_service(place, {.timeout_s = options.timeout_s, .retries = options.retries}),
                                       options);
}

}  // namespace tessera
