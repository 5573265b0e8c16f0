#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

// What others have published of a case.
struct PublishedFigures {
  std::optional<double> tflops_per_device = {};
  std::optional<double> latency_s = {};
  std::optional<double> parameters_m = {};
  std::optional<double> memory_gb = {};
};
template <class V>
void describe(V& v, PublishedFigures& c) {
  v.field("tflops_per_device", c.tflops_per_device, "TFLOP/s of a device");
  v.field("latency_s", c.latency_s, "seconds of a step");
  v.field("parameters_m", c.parameters_m, "millions of parameters");
  v.field("memory_gb", c.memory_gb, "most memory of a device");
}

// One model and batch, for one number of devices.
struct SuiteCase {
  int64_t devices = 1;
  std::vector<std::string> set = {};
  PublishedFigures published = {};
};
template <class V>
void describe(V& v, SuiteCase& c) {
  v.field("devices", c.devices, "of all hosts together", at_least(1));
  v.field("set", c.set, "values laid over the suite's");
  v.group("published", c.published, "figures to be shown beside ours");
}

// A benchmark of several sizes: a config, and what each size lays over it.
struct Suite {
  std::string title = {};
  std::string source = {};
  std::string config = {};
  std::vector<std::string> set = {};
  std::vector<SuiteCase> cases = {};  // their `cases:` is read apart

  const SuiteCase& of(int64_t devices) const;  // throws UsageError that names those there are
};
template <class V>
void describe(V& v, Suite& c) {
  v.field("title", c.title, "what is measured");
  v.field("source", c.source, "where the published figures are from, and of what machine");
  v.field("config", c.config, "a config's file, relative to this one, or the name of a built-in one");
  v.field("set", c.set, "values laid over it");
}

// Throws UsageError with file and line. The file may be a built-in one, as suites/unet_coco.
Suite read_suite(const std::filesystem::path& file);

// What was measured of a case.
struct SuiteRow {
  SuiteCase asked = {};
  int64_t ranks = 1, batch_size = 0, micro_batch = 0;
  double parameters = 0, latency_s = 0, latency_sd_s = 0, tflops_per_device = 0, images_per_s = 0, memory_gb = 0;
  std::string failure = {};  // why nothing was measured
};

std::string suite_text(const std::vector<SuiteRow>& rows);
std::string suite_tsv(const Suite& suite, const std::vector<SuiteRow>& rows, const std::string& machine);

}  // namespace tessera
