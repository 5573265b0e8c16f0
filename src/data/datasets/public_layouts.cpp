#include "data/datasets/public_layouts.h"

#include <algorithm>

#include "core/error.h"
#include "data/datasets/folder_names.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

constexpr size_t kChannelDigits = 4;

// The "_0003" at the end of a name, or "".
std::string channel_of(const fs::path& file) {
  std::string name = file.filename().string();
  name.resize(name.find('.') == std::string::npos ? name.size() : name.find('.'));  // .nii.gz
  const size_t at = name.rfind('_');
  if (at == std::string::npos || name.size() - at - 1 != kChannelDigits) return "";
  const std::string ending = name.substr(at);
  return ending.find_first_not_of("0123456789", 1) == std::string::npos ? ending : "";
}

}  // namespace

std::string channel_ending(const fs::path& images) {
  size_t with_channel = 0, others = 0;
  for (const fs::path& file : files_below(images)) {
    const std::string ending = channel_of(file);
    TSR_CHECK(
        ending.empty() || ending == "_0000",
        "{} is another channel of its case, and a sample is one file here: expected one image per case, NAME_0000. Join the "
        "channels into one TIFF of several pages, or keep one of them",
        file.string());
    if (!ending.empty()) {
      ++with_channel;
    } else if (is_image_file(file)) {
      ++others;
    }
  }
  return with_channel > 0 && others == 0 ? "_0000" : "";
}

std::optional<Layout> cityscapes(const fs::path& root) {
  const fs::path images = root / "leftImg8bit", masks = root / "gtFine";
  if (!is_folder(images) || !is_folder(masks)) return std::nullopt;
  Layout layout;
  layout.image_ending = "_leftImg8bit";
  for (const Split split : {Split::kTrain, Split::kVal, Split::kTest})
    layout.part(split) = {folder_of_split(images, split), folder_of_split(masks, split), ""};
  // The training numbers 0..18 are made from the 34 numbers of the files by a script that not everybody runs.
  const std::vector<fs::path> files = files_below(masks);
  const bool trainable = std::any_of(
      files.begin(), files.end(), [](const fs::path& file) { return file.stem().string().ends_with("_gtFine_labelTrainIds"); });
  layout.mask_ending = trainable ? "_gtFine_labelTrainIds" : "_gtFine_labelIds";
  return layout;
}

std::optional<Layout> pascal_voc(const fs::path& root) {
  const fs::path images = root / "JPEGImages", masks = root / "SegmentationClass";
  if (!is_folder(images) || !is_folder(masks)) return std::nullopt;
  const auto list = [&](const std::string& name) {
    const std::string file = "ImageSets/Segmentation/" + name + ".txt";
    return is_plain_file(root / file) ? file : std::string();
  };
  Layout layout;
  layout.train = {images, masks, list("train")};
  layout.val.list = list("val");
  layout.test.list = list("test");
  if (layout.train.list.empty() && layout.val.list.empty()) layout.train.list = list("trainval");
  return layout;
}

}  // namespace tessera
