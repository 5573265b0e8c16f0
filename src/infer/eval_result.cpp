#include "infer/eval_result.h"

#include "infer/eval_metrics.h"

namespace tessera {

using nlohmann::json;

namespace {

json class_json(const std::string& name, const EvalResult& result, const std::vector<ClassMetric>& metrics, size_t c) {
  const ClassScore& score = result.report.classes[c];
  // Accuracy and Dice are the names under which logs have always had recall and F1.
  json fields{{"name", name}, {"accuracy", score.accuracy}, {"dice", score.dice}, {"pixels", score.pixels}};
  const bool has_objects = !result.objects.empty() && result.object_classes[c];
  for (const ClassMetric& metric : metrics) {
    if (!metric.of_objects || has_objects) fields[metric.name] = metric.values[c];
  }
  if (has_objects) {
    const ClassCounts& found = result.objects[c].found;
    fields["objects"] = {{"labelled", found.labelled()}, {"predicted", found.predicted()}, {"matched", found.tp}};
  }
  return fields;
}

}  // namespace

json eval_json(const ClassTable& classes, const EvalResult& result) {
  json metrics, per_class = json::array(), confusion = json::array();
  for (const auto& [name, value] : mean_metrics(result)) metrics[name] = value;
  const std::vector<ClassMetric> of_classes = class_metrics(result);
  const auto n = classes.names.size();
  for (size_t c = 0; c < n; ++c) {
    per_class.push_back(class_json(classes.names[c], result, of_classes, c));
    if (result.confusion.empty()) continue;
    confusion.push_back(std::vector<int64_t>(result.confusion.begin() + static_cast<int64_t>(c * n),
                                             result.confusion.begin() + static_cast<int64_t>((c + 1) * n)));
  }
  json all{{"metrics", metrics},          {"per_class", per_class}, {"confusion", confusion},
           {"images", result.num_images}, {"bad", result.num_bad},  {"seconds", result.seconds}};
  if (!result.windows_for_memory.empty()) all["windows_for_memory"] = result.windows_for_memory;
  return all;
}

}  // namespace tessera
