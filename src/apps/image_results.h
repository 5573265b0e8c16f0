#pragma once
#include <string>
#include <vector>

#include "apps/image_jobs.h"
#include "infer/predictor.h"
#include "infer/shared_images.h"

namespace tessera {

// Which files `predict` writes.
struct ResultFiles {
  std::string folder = "predictions";
  bool overlay = false, palette = false, probabilities = false;
  std::vector<std::string> overlapping = {};  // classes, each in a mask of its own; empty: one mask has them all

  // Throws UsageError where two of the files would have one name.
  std::vector<std::string> suffixes() const;  // of all files of an image: FOLDER/NAME + suffix
};

// What a model finds in an image, at its original size.
struct ImageResults {
  LabelMap labels;
  at::Tensor probabilities;  // if asked for
};

ImageGroup group_of(const Sample& sample);

// All ranks of a team call this; its leader has the results.
ImageResults find_results(const Predictor& predictor, const ImageGroup& image, bool with_probabilities,
                          const WindowTeam& team = {});

void write_results(const ResultFiles& files, const ClassTable& classes, const ImageJob& job, const Image& original,
                   const ImageResults& results);

}  // namespace tessera
