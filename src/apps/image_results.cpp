#include "apps/image_results.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/class_bits.h"
#include "core/error.h"
#include "core/files.h"
#include "data/batch/image_tensor.h"
#include "data/decode/png_writer.h"
#include "data/draw/class_overlay.h"
#include "data/draw/overlay.h"
#include "infer/pictures.h"
#include "infer/too_large.h"
#include "tensor/error_text.h"
#include "weights/formats/npz.h"

namespace tessera {
namespace {

constexpr const char* kMask = ".png";
constexpr const char* kOverlay = "_overlay.png";
constexpr const char* kProbabilities = "_probabilities.npy";

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
  if (probabilities) all.emplace_back(kProbabilities);
  for (auto suffix = all.begin(); suffix != all.end(); ++suffix) {
    TSR_CHECK_USAGE(std::find(all.begin(), suffix, *suffix) == suffix,
                    "two results of an image would be called NAME{}; a class has the name of another file: leave that out",
                    *suffix);
  }
  return all;
}

ImageGroup group_of(const Sample& sample) {
  return {image_tensor(sample.image), sample.image.max_value, {sample.placement}};
}

ImageResults find_results(const Predictor& predictor, const ImageGroup& image, bool with_probabilities,
                          const WindowTeam& team) {
  if (!with_probabilities) {
    const auto maps = predictor.class_maps(image, team);
    if (!team.leads()) return {};
    return {make_with_kept_memory([&] { return to_label_map(maps[0]); }), {}};
  }
  // Probabilities need all scores of the image at once; classes alone do not.
  const ImageScores scores = predictor.scores(image.pixels, image.max_value, team);
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

void write_results(const ResultFiles& files, const ClassTable& classes, const ImageJob& job, const Image& original,
                   const ImageResults& results) {
  const fs::path base = fs::path(files.folder) / job.name;
  make_folders(base.parent_path());
  const auto with = [&](const char* suffix) { return fs::path(base.string() + suffix); };
  const LabelMap& labels = results.labels;
  make_with_kept_memory([&] {
    for (size_t c = 0; c < files.overlapping.size(); ++c)
      write_file(with(class_suffix(files.overlapping[c]).c_str()), encode_class(labels, static_cast<int>(c)));
    if (files.overlapping.empty())
      write_file(with(kMask), files.palette ? encode_png_palette(labels, classes.palette) : encode_png_labels(labels));
    if (files.overlay) write_file(with(kOverlay), encode_png(draw_classes(to_display(original), labels, classes, 0.45F)));
    if (files.probabilities)
      write_file(with(kProbabilities), encode_npy(results.probabilities.to(at::kFloat), job.name.string()));
  });
}

}  // namespace tessera
