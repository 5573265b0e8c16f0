#include "infer/eval_result.h"

namespace tessera {

using nlohmann::json;

json eval_json(const ClassTable& classes, const EvalResult& result) {
  json metrics, per_class = json::array(), confusion = json::array();
  for (const auto& [name, value] : named_values(result.report)) metrics[name] = value;
  const auto n = classes.names.size();
  for (size_t c = 0; c < n; ++c) {
    const auto& score = result.report.classes[c];
    per_class.push_back({{"name", classes.names[c]},
                         {"iou", score.iou},
                         {"accuracy", score.accuracy},
                         {"dice", score.dice},
                         {"pixels", score.pixels}});
    confusion.push_back(std::vector<int64_t>(result.confusion.begin() + static_cast<int64_t>(c * n),
                                             result.confusion.begin() + static_cast<int64_t>((c + 1) * n)));
  }
  json all{{"metrics", metrics},          {"per_class", per_class}, {"confusion", confusion},
           {"images", result.num_images}, {"bad", result.num_bad},  {"seconds", result.seconds}};
  if (!result.windows_for_memory.empty()) all["windows_for_memory"] = result.windows_for_memory;
  return all;
}

}  // namespace tessera
