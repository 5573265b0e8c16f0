#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/access.h"
#include "infer/eval_result.h"

namespace tessera {

nlohmann::json to_json(const ImageScore& score);
ImageScore image_score_from_json(const nlohmann::json& json);  // throws nlohmann's errors

// What an evaluation counted in each image: what intervals and comparisons are computed from. A run keeps that of its best and
// of its newest evaluation as RUN/evaluations/{best,last}.json; `tessera eval --images FILE` writes that of any other.
struct EvaluatedImages {
  std::vector<std::string> classes;
  bool overlap = false;            // classes do
  int64_t step = -1;               // of the run; -1: not known
  std::string data = {};           // where the images are from, for people
  std::vector<ImageScore> images;  // in data-set order
};

void write_evaluated_images(const std::filesystem::path& file, const EvaluatedImages& evaluated,
                            Access access = Access::kUmask);

// Throws Error that names the file and what is wrong with it.
EvaluatedImages read_evaluated_images(const std::filesystem::path& file);

}  // namespace tessera
