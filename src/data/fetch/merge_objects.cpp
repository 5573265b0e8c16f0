#include "data/fetch/merge_objects.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "data/decode/mask.h"
#include "data/decode/png_writer.h"

namespace tessera {
namespace {

std::vector<fs::path> sample_folders(const fs::path& from) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (entry.is_directory() && fs::is_directory(entry.path() / "images") && fs::is_directory(entry.path() / "masks"))
      found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Image merged(const fs::path& folder) {
  Image all;
  for (const fs::path& file : list_files(folder)) {
    const RawMask mask = decode_mask(read_bytes(file));
    if (all.count() == 0) all = Image(mask.height, mask.width, 1);
    TSR_CHECK(all.size() == (Size{mask.height, mask.width}), "{} is {} x {}, other masks of its image are {} x {}",
              file.string(), mask.height, mask.width, all.height, all.width);
    for (size_t i = 0; i < mask.values.size(); ++i) {
      if (mask.values[i] != 0) all.bytes()[i] = 255;
    }
  }
  TSR_CHECK(all.count() > 0, "there are no masks in {}", folder.string());
  return all;
}

}  // namespace

void merge_objects(const fs::path& from, const fs::path& to, const std::function<void(int64_t, int64_t)>& step) {
  const std::vector<fs::path> folders = sample_folders(from);
  TSR_CHECK(!folders.empty(), "no folder below {} holds images and masks; the archive is not what it was", from.string());
  make_folders(to / "images");
  make_folders(to / "masks");
  int64_t done = 0;
  for (const fs::path& folder : folders) {
    const std::vector<fs::path> images = list_files(folder / "images");
    TSR_CHECK(images.size() == 1, "{} holds {} images, expected one", folder.string(), images.size());
    const std::string id = folder.filename().string();
    const fs::path image = to / "images" / (id + images[0].extension().string());
    std::error_code no_links;
    fs::create_hard_link(images[0], image, no_links);
    if (no_links) fs::copy_file(images[0], image);
    // Not write_file, which flushes each: the whole folder is flushed at once.
    const std::vector<uint8_t> png = encode_png(merged(folder / "masks"));
    const Descriptor file(to / "masks" / (id + ".png"), O_WRONLY | O_CREAT | O_EXCL, 0666);
    TSR_CHECK(file.ok() && put_all(file, png), "cannot write {}: {}", (to / "masks" / id).string(), std::strerror(errno));
    step(++done, static_cast<int64_t>(folders.size()));
  }
}

}  // namespace tessera
