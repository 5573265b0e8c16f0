#include "infer/image_scores.h"

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"

namespace tessera {

using nlohmann::json;

json to_json(const ImageScore& score) {
  json counts = json::array();
  for (const auto& [c, n] : score.counts) counts.push_back({c, n.tp, n.fp, n.fn, n.tn});
  return {{"index", score.index}, {"id", score.id}, {"mean_iou", score.mean_iou}, {"counts", std::move(counts)}};
}

ImageScore image_score_from_json(const json& json) {
  ImageScore score{.index = json.at("index"), .id = json.at("id"), .mean_iou = json.at("mean_iou")};
  for (const auto& n : json.at("counts"))
    score.counts.emplace_back(n.at(0).get<int>(), ClassCounts{.tp = n.at(1), .fp = n.at(2), .fn = n.at(3), .tn = n.at(4)});
  return score;
}

void write_evaluated_images(const fs::path& file, const EvaluatedImages& evaluated, Access access) {
  json images = json::array();
  for (const ImageScore& score : evaluated.images) images.push_back(to_json(score));
  const json all{{"classes", evaluated.classes},
                 {"overlap", evaluated.overlap},
                 {"step", evaluated.step},
                 {"data", evaluated.data},
                 {"images", std::move(images)}};
  write_file(file, json_text(all), access);
}

EvaluatedImages read_evaluated_images(const fs::path& file) {
  try {
    const json all = json::parse(read_text(file));
    EvaluatedImages evaluated{.classes = all.at("classes"),
                              .overlap = all.at("overlap"),
                              .step = all.at("step"),
                              .data = all.at("data"),
                              .images = {}};
    for (const auto& image : all.at("images")) evaluated.images.push_back(image_score_from_json(image));
    const auto classes = std::ssize(evaluated.classes);
    for (const ImageScore& image : evaluated.images) {
      for (const auto& entry : image.counts)
        TSR_CHECK(entry.first >= 0 && entry.first < classes, "{} names class {} of {}", file.string(), entry.first, classes);
    }
    return evaluated;
  } catch (const json::exception& e) {
    fail("{} is no list of evaluated images ({}); expected what `tessera eval --images FILE` or a run's evaluations/ holds",
         file.string(), e.what());
  }
}

}  // namespace tessera
