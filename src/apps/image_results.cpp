#include "apps/image_results.h"

#include <fmt/format.h>

#include "core/files.h"
#include "data/batch/image_tensor.h"
#include "data/decode/png_writer.h"
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

}  // namespace

std::vector<std::string> ResultFiles::suffixes() const {
  std::vector<std::string> all{kMask};
  if (overlay) all.emplace_back(kOverlay);
  if (probabilities) all.emplace_back(kProbabilities);
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
    write_file(with(kMask), files.palette ? encode_png_palette(labels, classes.palette) : encode_png_labels(labels));
    if (files.overlay) write_file(with(kOverlay), encode_png(overlay(to_display(original), labels, classes.palette, 0.45F)));
    if (files.probabilities)
      write_file(with(kProbabilities), encode_npy(results.probabilities.to(at::kFloat), job.name.string()));
  });
}

}  // namespace tessera
