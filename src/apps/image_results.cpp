#include "apps/image_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/decode/png_writer.h"
#include "data/draw/class_overlay.h"
#include "data/draw/legend.h"
#include "data/draw/overlay.h"
#include "infer/pictures.h"
#include "report/region_files.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"
#include "weights/formats/npz.h"

namespace tessera {
namespace {

constexpr const char* kMask = ".png";
constexpr const char* kOverlay = "_overlay.png";
constexpr const char* kOutlines = "_outlines.png";
constexpr const char* kProbabilities = "_probabilities.npy";
constexpr const char* kJson = ".json";
constexpr const char* kGeoJson = ".geojson";
constexpr const char* kCocoFile = "annotations_coco.json";

// The labels drawn on the image, and below it what the colours mean.
std::vector<uint8_t> picture_png(const StoredImage& image, const LabelMap& labels, const ClassTable& classes,
                                 const OverlayStyle& style) {
  constexpr uint8_t kGround = 255;
  const OverlayRows rows(image, labels, classes.palette, style);
  const Image legend = draw_legend(labels, classes, image.width);
  const auto shown = static_cast<size_t>(image.width) * 3, all = static_cast<size_t>(legend.width) * 3;
  return encode_png_rows({image.height + legend.height, legend.width}, 3, [&](int y, uint8_t* row) {
    if (y < image.height) {
      rows.row(y, row);
      std::fill(row + shown, row + all, kGround);
    } else {
      std::copy_n(legend.bytes().begin() + static_cast<int64_t>(static_cast<size_t>(y - image.height) * all), all, row);
    }
  });
}

// The classes of one image, row by row where it is cut into windows: the map is all that is as large as the image.
LabelMap labels_of(const Predictor& predictor, const ImageGroup& image) {
  const Size size = image.placements.at(0)->original;
  LabelMap map = make_with_kept_memory([&] { return LabelMap(size.height, size.width); });
  predictor.class_rows(image, [&](int64_t y, const at::Tensor& rows) {
    const at::Tensor plain = rows.cpu().contiguous();
    std::copy_n(plain.const_data_ptr<int16_t>(), plain.numel(), map.labels.begin() + y * map.width);
  });
  return map;
}

// What a mask of one class ends in: "_cell.png".
std::string class_suffix(const std::string& name) {
  std::string part = name;
  std::replace(part.begin(), part.end(), '/', '_');
  return "_" + part + kMask;
}

// 255 where the class is, else 0.
std::vector<uint8_t> encode_class(const LabelMap& labels, int c) {
  Image mask(labels.height, labels.width, 1);
  std::transform(labels.labels.begin(), labels.labels.end(), mask.bytes().begin(),
                 [&](int16_t label) { return static_cast<uint8_t>(has_class(label, c) ? 255 : 0); });
  return encode_png(mask);
}

}  // namespace

std::vector<std::string> ResultFiles::suffixes() const {
  std::vector<std::string> all;
  for (const std::string& name : overlapping) all.push_back(class_suffix(name));
  if (overlapping.empty()) all.emplace_back(kMask);
  if (overlay) all.emplace_back(kOverlay);
  if (outlines) all.emplace_back(kOutlines);
  if (probabilities) all.emplace_back(kProbabilities);
  if (json) all.emplace_back(kJson);
  if (polygons == PolygonFormat::kGeoJson) all.emplace_back(kGeoJson);
  for (auto suffix = all.begin(); suffix != all.end(); ++suffix) {
    TSR_CHECK_USAGE(std::find(all.begin(), suffix, *suffix) == suffix,
                    "two results of an image would be called NAME{}; a class has the name of another file: leave that out",
                    *suffix);
  }
  return all;
}

ImageResults find_results(const Predictor& predictor, const ImageGroup& image, bool with_probabilities,
                          const WindowTeam& team) {
  if (!with_probabilities && team.alone()) return {labels_of(predictor, image), {}};
  if (!with_probabilities) {
    const auto maps = predictor.class_maps(image, team);
    if (!team.leads()) return {};
    return {make_with_kept_memory([&] { return to_label_map(maps[0]); }), {}};
  }
  // Probabilities need all scores of the image at once; classes alone do not.
  const ImageScores scores = predictor.scores(image, team);
  if (!team.leads()) return {};
  try {
    return {to_label_map(predictor.classes(scores, image.placements[0])), predictor.probabilities(scores, image.placements[0])};
  } catch (const std::exception& e) {
    const std::string why = why_too_large(e);
    if (why.empty()) throw;
    throw TooLarge(fmt::format("{} with the probabilities of {} classes for an image of {} x {}; leave --probabilities out. {}",
                               why, scores.values.size(1), scores.height, scores.width, error_text(e)));
  }
}

void ResultWriter::write(const ImageJob& job, const StoredImage* original, const ImageResults& results) {
  const fs::path base = fs::path(files_.folder) / job.name;
  make_folders(base.parent_path());
  const auto with = [&](const char* suffix) { return fs::path(base.string() + suffix); };
  const LabelMap& labels = results.labels;
  const RegionOptions regions{background_, files_.simplify};
  make_with_kept_memory([&] {
    for (size_t c = 0; c < files_.overlapping.size(); ++c)
      write_file(with(class_suffix(files_.overlapping[c]).c_str()), encode_class(labels, static_cast<int>(c)));
    const bool overlapping = !files_.overlapping.empty();
    if (!overlapping)
      write_file(with(kMask), files_.palette ? encode_png_palette(labels, classes_.palette) : encode_png_labels(labels));
    OverlayStyle style{.line = line_width(labels.size())};
    if (files_.overlay && overlapping)
      write_file(with(kOverlay), encode_png(draw_classes(to_display(*original), labels, classes_, style.alpha)));
    if (files_.overlay && !overlapping) write_file(with(kOverlay), picture_png(*original, labels, classes_, style));
    style.outlines_only = true;
    style.background = background_.value_or(kIgnoreLabel);
    if (files_.outlines) write_file(with(kOutlines), picture_png(*original, labels, classes_, style));
    if (files_.probabilities)
      write_file(with(kProbabilities), encode_npy(results.probabilities.to(at::kFloat), job.name.string()));
    if (files_.json) write_file(with(kJson), json_text(area_json(job.image.string(), labels, classes_), 2) + "\n");
    if (files_.polygons == PolygonFormat::kGeoJson) write_file(with(kGeoJson), geojson_text(labels, classes_, regions));
  });
  // The name is that below a folder of images, as COCO has it; the mask's differs in the extension.
  const std::string name = (job.name.parent_path() / job.image.filename()).generic_string();
  if (files_.polygons == PolygonFormat::kCoco) coco_.push_back(coco_image(name, labels, regions));
}

void ResultWriter::finish(Communicator& ranks) {
  if (files_.polygons != PolygonFormat::kCoco) return;
  std::vector<std::vector<nlohmann::json>> of_ranks;
  for (const std::string& text : ranks.gather_text(json_text(coco_))) of_ranks.push_back(nlohmann::json::parse(text));
  if (ranks.rank() != 0) return;
  std::vector<nlohmann::json> images;  // in the order in which they were dealt out
  for (size_t round = 0; round < of_ranks[0].size(); ++round) {
    for (auto& own : of_ranks) {
      if (round < own.size()) images.push_back(std::move(own[round]));
    }
  }
  const nlohmann::json file = coco_file(images, classes_, {background_, files_.simplify});
  write_file(fs::path(files_.folder) / kCocoFile, json_text(file) + "\n");
}

}  // namespace tessera
