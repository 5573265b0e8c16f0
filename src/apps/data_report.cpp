#include "apps/data_report.h"

#include "core/cpu_budget.h"
#include "core/progress_bar.h"
#include "core/secrets.h"

namespace tessera {

DataReport examine(const Dataset& dataset, const DataConfig& config, Split split) {
  ProgressBar bar(std::string(name_of(split)), dataset.size());
  DataReport report = check_dataset(dataset, loader_threads(config.threads, 1), [&](int64_t done) { bar.update(done); });
  // Paths of files may come from secret variables, and what is printed here may be kept.
  for (SampleFault& fault : report.faults) fault.reason = without_secrets(fault.reason);
  for (std::string& warning : report.warnings) warning = without_secrets(warning);
  return report;
}

nlohmann::json report_json(const DataReport& report, const ClassTable& classes) {
  nlohmann::json faults = nlohmann::json::array();
  for (const SampleFault& fault : report.faults) faults.push_back({{"id", fault.id}, {"reason", fault.reason}});
  return {{"checked", report.checked},
          {"faults", faults},
          {"warnings", report.warnings},
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
