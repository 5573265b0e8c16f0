#include "apps/data_report.h"

#include "core/cpu_budget.h"
#include "core/progress_bar.h"
#include "core/secrets.h"

namespace tessera {

Survey examine(const OpenSplit& split, const DataConfig& config) {
  ProgressBar bar(std::string(name_of(split.split)), split.data->size());
  return survey_split(split.split, split.data, loader_threads(config.threads, 1), [&](int64_t done) { bar.update(done); });
}

DataReport shown_report(const Survey& survey) {
  DataReport report = report_of(survey);
  // Paths of files may come from secret variables, and what is printed here may be kept.
  for (SampleFault& fault : report.faults) fault.reason = without_secrets(fault.reason);
  return report;
}

nlohmann::json report_json(const DataReport& report, const ClassTable& classes) {
  nlohmann::json faults = nlohmann::json::array();
  for (const SampleFault& fault : report.faults) faults.push_back({{"id", fault.id}, {"reason", fault.reason}});
  return {{"checked", report.checked},
          {"faults", faults},
          {"classes", classes.names},
          {"pixels_per_class", report.pixels_per_class},
          {"images_per_class", report.images_per_class},
          {"ignored_pixels", report.ignored_pixels},
          {"sizes", report.sizes},
          {"mean", report.mean},
          {"std", report.std},
          {"suggested_class_weights", report.suggested_class_weights}};
}

}  // namespace tessera
