#pragma once
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/image_jobs.h"
#include "infer/predictor.h"
#include "infer/shared_images.h"

namespace tessera {

enum class PolygonFormat { kNone, kGeoJson, kCoco };

// Which files `predict` writes.
struct ResultFiles {
  std::string folder = "predictions";
  bool overlay = false, outlines = false, palette = false, probabilities = false, json = false;
  PolygonFormat polygons = PolygonFormat::kNone;
  double simplify = 0;                        // pixels, of polygons
  std::vector<std::string> overlapping = {};  // classes, each in a mask of its own; empty: one mask has them all

  // Throws UsageError where two of the files would have one name.
  std::vector<std::string> suffixes() const;  // of all files of an image: FOLDER/NAME + suffix
  bool draws() const { return overlay || outlines; }
};

// What a model finds in an image, at its original size.
struct ImageResults {
  LabelMap labels;
  at::Tensor probabilities;  // if asked for
};

// All ranks of a team call this; its leader has the results.
ImageResults find_results(const Predictor& predictor, const ImageGroup& image, bool with_probabilities,
                          const WindowTeam& team = {});

// Writes what is found in images, one after another.
class ResultWriter {
 public:
  // background: a class that is neither outlined nor an object. All but that must outlive this.
  ResultWriter(const ResultFiles& files, const ClassTable& classes, std::optional<int16_t> background)
      : files_(files), classes_(classes), background_(background) {}

  // original: the image as it was read, where pictures are drawn on it.
  void write(const ImageJob& job, const StoredImage* original, const ImageResults& results);

  // The file of all images' polygons, if it is asked for. Collective: the first rank writes those of all.
  void finish(Communicator& ranks);

 private:
  const ResultFiles& files_;
  const ClassTable& classes_;
  std::optional<int16_t> background_;
  std::vector<nlohmann::json> coco_;  // of this rank's images
};

}  // namespace tessera
