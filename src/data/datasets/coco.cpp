#include "data/datasets/coco.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "data/datasets/char_reader.h"
#include "data/datasets/class_table.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/coco_outline.h"
#include "data/datasets/coco_segments.h"
#include "data/datasets/file_version.h"
#include "data/datasets/folder_names.h"
#include "data/datasets/held_out.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/sample_list.h"
#include "data/fetch/fetch_data.h"
#include "storage/file_tree.h"

namespace tessera {
namespace {

// How often the outlines of an image may paint each of its pixels, on average; small images may have many that overlap.
constexpr int64_t kMaxLayers = 64, kUsualPixels = int64_t{1} << 20;

// By the text alone: links that are in the folder are its owner's business. A file in the same format from elsewhere could else
// put any picture of this machine into a report.
bool stays_below(const fs::path& root, const fs::path& name) {
  if (std::any_of(name.begin(), name.end(), [](const fs::path& part) { return part == ".."; })) return false;
  if (!name.is_absolute()) return true;
  const fs::path folder = fs::absolute(root / "").lexically_normal();  // ends in an empty part
  return std::mismatch(folder.begin(), std::prev(folder.end()), name.begin(), name.end()).first == std::prev(folder.end());
}

// Whether val is a part of train's file: nobody names one for val, and none is found.
bool is_held_out(const DataConfig& config) {
  return !names_files(config.val) && !find_coco_files(config.path, Split::kVal);
}

fs::path json_of(const DataConfig& config, Split split) {
  const SplitConfig& own = split_of(config, split);
  const fs::path root = root_of(config, own);
  const std::optional<CocoFiles> found = own.masks.empty() ? find_coco_files(root, split) : std::nullopt;
  const fs::path json =
      found ? found->json
            : root / (own.masks.empty() ? fmt::format("annotations/instances_{}2017.json", name_of(split)) : own.masks);
  TSR_CHECK(is_plain_file(json), "no such file: {}; set data.path or data.{}.masks to the instances JSON{}", json.string(),
            name_of(split), fs::exists(root) ? "" : fetch_hint(root));
  return json;
}

// The folder that the config names, else the first of the usual ones that holds one of the first images.
fs::path image_folder(const DataConfig& config, Split split, const fs::path& json, const std::vector<CocoImage>& images) {
  constexpr size_t kLookedAt = 16;  // single files may be missing
  const SplitConfig& own = split_of(config, split);
  const fs::path root = root_of(config, own);
  if (!own.images.empty()) {
    TSR_CHECK(is_folder(root / own.images), "no such folder: {}; set data.path or data.{}.images", (root / own.images).string(),
              name_of(split));
    return root / own.images;
  }
  for (const fs::path& folder : coco_image_folders(root, json, split)) {
    for (size_t i = 0; i < std::min(images.size(), kLookedAt); ++i) {
      if (is_plain_file(folder / images[i].file_name)) return folder;
    }
  }
  fail("no folder below {} holds the images of {} (the first is {}); set data.path or data.{}.images; folders there: {}",
       root.string(), json.string(), printable(images[0].file_name), name_of(split), folder_list(root));
}

}  // namespace

CocoDataset::CocoDataset(const DataConfig& config, Split split) : config_(config.coco), options_(decode_options(config)) {
  const bool held_out = split == Split::kVal && is_held_out(config);
  const Split source = held_out ? Split::kTrain : split;
  const SplitConfig& own = split_of(config, source);
  const fs::path root = root_of(config, own);
  root_ = root;
  TSR_CHECK_USAGE(!root.empty(), "data.path is not set: give the folder that holds the images and annotations");
  json_ = json_of(config, source);
  if (is_archived(json_)) archived_json_ = read_file(json_);
  CocoFile file = read_coco_file(json_);
  TSR_CHECK(!file.images.empty(), "{} lists no images", json_.string());
  images_ = image_folder(config, source, json_, file.images);
  class_map_ = map_coco_classes(config_, file.categories);
  if (!config.classes.empty() && split != Split::kTrain && !held_out) check_against_train(config, split);
  classes_ = make_class_table(config, class_map_.names);
  gather(std::move(file));
  choose(config, split, held_out);
}

// Where data.classes renames the classes, a file with other ones, or with the same in another order, would go unnoticed.
void CocoDataset::check_against_train(const DataConfig& config, Split split) const {
  const SplitConfig& train = config.train;
  const fs::path root = root_of(config, train);
  const std::optional<CocoFiles> found = train.masks.empty() ? find_coco_files(root, Split::kTrain) : std::nullopt;
  const fs::path json = found ? found->json : root / train.masks;
  if ((train.masks.empty() && !found) || json == json_ || !is_plain_file(json)) return;
  check_same_classes(map_coco_classes(config_, read_coco_file(json).categories).names, class_map_.names, name_of(split));
}

// The samples of the file that are the split's.
void CocoDataset::choose(const DataConfig& config, Split split, bool held_out) {
  const Split source = held_out ? Split::kTrain : split;
  const std::vector<std::string> names = names_of(items_, &Item::id);
  std::vector<size_t> chosen = listed_samples(split_of(config, source).list, root_, names);
  origin_.text = json_.lexically_relative(root_).generic_string();
  if (held_out || (split == Split::kTrain && is_held_out(config))) {
    const size_t pool = chosen.size();
    const std::vector<bool> for_val = draw_held_out(config, chosen, names);
    std::erase_if(chosen, [&](size_t i) { return for_val[i] != held_out; });
    if (held_out) origin_.text = held_out_text(config, chosen.size(), pool);
  }
  items_ = pick(std::move(items_), chosen, split_of(config, split).count);
}

// Sorts the annotations to their images.
void CocoDataset::gather(CocoFile file) {
  id_words_ = std::move(file.words);
  std::unordered_map<int64_t, size_t> position;
  std::unordered_set<std::string> files, names;
  for (size_t i = 0; i < file.images.size(); ++i) {
    CocoImage& image = file.images[i];
    std::string id = fs::path(image.file_name).replace_extension().generic_string();
    if (image.file_name.empty()) id = fmt::format("images[{}]", i);
    // Of a.jpg and a.png the second keeps its ending; of one file that is listed twice it is told by its place.
    const bool is_new_file = files.insert(image.file_name).second, is_new_name = names.insert(id).second;
    if (!is_new_name) id = is_new_file ? image.file_name : fmt::format("{}#{}", image.file_name, i);
    if (image.id != kNoCocoId) {
      const auto [place, is_new] = position.emplace(image.id, i);
      if (!is_new) {  // whose annotations are whose cannot be told
        CocoImage& first = items_[place->second].image;
        image.fault = first.fault = fmt::format("images '{}' and '{}' have the same id {}", printable(first.file_name),
                                                printable(image.file_name), id_text(image.id));
      }
    }
    items_.push_back({std::move(id), std::move(image), 0, 0});
  }
  annotations_ = std::move(file.annotations);
  mask_files_ = std::move(file.mask_files);
  const size_t all = annotations_.size();
  const auto is_lonely = [&](const CocoAnnotation& a) { return !position.contains(a.image_id); };
  const auto first = std::find_if(annotations_.begin(), annotations_.end(), is_lonely);
  if (first != annotations_.end()) {
    const CocoAnnotation lonely = *first;
    std::erase_if(annotations_, is_lonely);
    TSR_CHECK(!annotations_.empty(),
              "{}: no annotation belongs to an image that the file lists; the first is annotation {} with image_id {}",
              json_.string(), lonely.id, id_text(lonely.image_id));
    log_warn(
        "{}: {} of {} annotations belong to images that the file does not list and are left out; the first is annotation {} "
        "with image_id {}",
        json_.string(), all - annotations_.size(), all, lonely.id, id_text(lonely.image_id));
  }
  std::stable_sort(annotations_.begin(), annotations_.end(), [&](const CocoAnnotation& a, const CocoAnnotation& b) {
    return position.at(a.image_id) < position.at(b.image_id);
  });
  for (size_t at = 0; at < annotations_.size();) {
    Item& item = items_[position.at(annotations_[at].image_id)];
    item.begin = at;
    while (at < annotations_.size() && annotations_[at].image_id == item.image.id) ++at;
    item.end = at;
  }
}

std::string CocoDataset::outline_text(const CocoAnnotation& annotation) const {
  if (archived_json_.size() == 0) return read_range(json_, annotation.offset, annotation.length);
  const Blob text = archived_json_.part(static_cast<size_t>(annotation.offset), static_cast<size_t>(annotation.length));
  return {text.bytes.begin(), text.bytes.end()};
}

LabelMap CocoDataset::draw(const Item& item) const {
  struct Layer {
    std::vector<PixelRun> runs;
    double area;
    int16_t label;
  };
  std::vector<Layer> layers;
  OutlineBudget budget;
  const int64_t pixels = int64_t{item.image.size.height} * item.image.size.width;
  int64_t unpainted = kMaxLayers * std::max(pixels, kUsualPixels);
  for (size_t i = item.begin; i < item.end; ++i) {
    const CocoAnnotation& annotation = annotations_[i];
    try {
      TSR_CHECK(annotation.fault.empty(), "{}", annotation.fault);
      TSR_CHECK(annotation.length > 0, "it has no segmentation");
      const auto label = class_map_.of_category.find(annotation.category_id);
      TSR_CHECK(label != class_map_.of_category.end(), "its category {} is not in the file", id_text(annotation.category_id));
      std::vector<PixelRun> runs = outline_runs(outline_text(annotation), item.image.size, budget);
      const int64_t painted = area_of(runs);
      unpainted -= painted;
      TSR_CHECK(unpainted >= 0, "with it the outlines cover the image more than {} times; they were made to be slow",
                kMaxLayers);
      const double area = annotation.area >= 0 ? annotation.area : static_cast<double>(painted);
      const bool hidden = annotation.crowd && !config_.crowds;
      layers.push_back({std::move(runs), area, hidden ? kIgnoreLabel : label->second});
    } catch (const Error& error) {
      throw BadSample(item.id, fmt::format("{}: annotation {}: {}", json_.string(), annotation.id, error.what()));
    }
  }
  if (config_.order == PaintOrder::kLargestFirst) {
    std::stable_sort(layers.begin(), layers.end(), [](const Layer& a, const Layer& b) { return a.area > b.area; });
  }
  std::vector<int16_t> columns(static_cast<size_t>(pixels), class_map_.unpainted);
  for (const Layer& layer : layers) paint_runs(columns, layer.runs, layer.label);
  return label_map(columns, item.image.size);
}

LabelMap CocoDataset::draw_segments(const Item& item, const CocoAnnotation& annotation) const {
  const std::string& name = mask_files_.at(static_cast<size_t>(annotation.mask_file));
  try {
    TSR_CHECK(annotation.fault.empty(), "{}", annotation.fault);
    TSR_CHECK(config_.allow_outside || stays_below(root_, name),
              "its file_name '{}' leads out of {}; if that is meant, set data.coco.allow_outside=true", printable(name),
              root_.string());
    const fs::path mask = panoptic_folder(json_) / name;
    return segment_labels(read_sample_file(item.id, mask).bytes, mask.string(), outline_text(annotation), class_map_,
                          {.crowds = config_.crowds, .max_pixels = options_.max_pixels});
  } catch (const Error& error) {
    throw BadSample(item.id,
                    fmt::format("{}: annotation of image {}: {}", json_.string(), id_text(annotation.image_id), error.what()));
  }
}

LabelMap CocoDataset::labels_of(const Item& item) const {
  const auto begin = annotations_.begin() + static_cast<std::ptrdiff_t>(item.begin);
  const auto end = annotations_.begin() + static_cast<std::ptrdiff_t>(item.end);
  const auto panoptic = std::find_if(begin, end, [](const CocoAnnotation& a) { return a.mask_file >= 0; });
  if (panoptic == end) return draw(item);
  if (end - begin > 1)
    throw BadSample(item.id, fmt::format("{}: image {} has {} annotations, expected one with segments_info", json_.string(),
                                         id_text(item.image.id), end - begin));
  return draw_segments(item, *panoptic);
}

fs::path CocoDataset::image_file(int64_t index) const {
  const fs::path name = items_.at(static_cast<size_t>(index)).image.file_name;
  if (name.empty()) return {};
  return config_.allow_outside || stays_below(root_, name) ? images_ / name : fs::path();
}

// Masks are drawn from the JSON file, which a change makes another one for all samples.
std::string CocoDataset::stored_version(int64_t index) const {
  const fs::path image = image_file(index);
  const std::string of_image = image.empty() ? "" : file_version(image), of_json = file_version(json_);
  return of_image.empty() || of_json.empty() ? "" : of_image + of_json;
}

Sample CocoDataset::get(int64_t index) const {
  const Item& item = items_.at(static_cast<size_t>(index));
  if (!item.image.fault.empty()) throw BadSample(item.id, fmt::format("{}: {}", json_.string(), item.image.fault));
  const fs::path path = image_file(index);
  if (path.empty())
    throw BadSample(item.id, fmt::format("{}: its file_name '{}' leads out of {}; if that is meant, set "
                                         "data.coco.allow_outside=true",
                                         json_.string(), printable(item.image.file_name), root_.string()));
  Sample sample = load_image_sample(item.id, path, options_);
  const std::string labels_name = fmt::format("of image {} in {}", id_text(item.image.id), json_.string());
  check_mask_size(sample, item.image.size, path.string(), labels_name);
  attach_labels(sample, labels_of(item), path.string(), labels_name);
  return sample;
}

}  // namespace tessera
