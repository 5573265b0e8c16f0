#include "study/suite/suite.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "config/node.h"
#include "config/reader.h"
#include "core/error.h"
#include "core/files.h"
#include "report/number_text.h"

namespace tessera {
namespace {

std::string published_text(const std::optional<double>& value, const char* format = "{:.4g}") {
  return value ? fmt::format(fmt::runtime(format), *value) : "–";
}

std::string tsv_field(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

}  // namespace

const SuiteCase& Suite::of(int64_t devices) const {
  std::vector<int64_t> known;
  for (const SuiteCase& one : cases) {
    if (one.devices == devices) return one;
    known.push_back(one.devices);
  }
  fail_usage("the suite has no case for {} devices; there are: {}. --case N takes that of another number", devices,
             fmt::join(known, ", "));
}

Suite read_suite(const fs::path& file) {
  Node root = load_config(file);
  Suite suite;
  if (const Node* cases = root.find("cases"); cases != nullptr && cases->kind == Node::Kind::kList) {
    for (size_t i = 0; i < cases->list.size(); ++i)
      ConfigReader::read_struct(cases->list[i], fmt::format("cases.{}", i), suite.cases.emplace_back());
  }
  TSR_CHECK_USAGE(!suite.cases.empty(), "{} is no suite: expected a list `cases:` with devices and what to set for them",
                  file.string());
  std::erase_if(root.map, [](const auto& entry) { return entry.first == "cases"; });
  ConfigReader::read_struct(root, "", suite);
  std::error_code error;
  if (const fs::path beside = file.parent_path() / suite.config; fs::exists(beside, error))
    suite.config = fs::absolute(beside).string();
  return suite;
}

std::string suite_text(const std::vector<SuiteRow>& rows) {
  std::string text =
      fmt::format("{:>7} {:>6} {:>7} {:>12} {:>11} {:>9} {:>16} {:>10} {:>12} {:>12} {:>12}\n", "case", "ranks", "batch",
                  "parameters", "latency s", "img/s", "TFLOP/s/device", "peak GB", "published:", "latency s", "TFLOP/s/dev");
  for (const SuiteRow& row : rows) {
    const PublishedFigures& published = row.asked.published;
    if (!row.failure.empty()) {
      text += fmt::format("{:>7} {:>6} {}\n", row.asked.devices, row.ranks, row.failure);
      continue;
    }
    text += fmt::format("{:>7} {:>6} {:>7} {:>12} {:>11.4g} {:>9.4g} {:>16.4g} {:>10.3g} {:>12} {:>12} {:>12}\n",
                        row.asked.devices, row.ranks, row.batch_size, count_text(static_cast<int64_t>(row.parameters)),
                        row.latency_s, row.images_per_s, row.tflops_per_device, row.memory_gb,
                        published.parameters_m ? published_text(published.parameters_m) + " M" : "–",
                        published_text(published.latency_s), published_text(published.tflops_per_device));
  }
  return text;
}

std::string suite_tsv(const Suite& suite, const std::vector<SuiteRow>& rows, const std::string& machine) {
  std::string text =
      "title\tmachine\tcase\tranks\tbatch\tmicro_batch\tparameters\tlatency_s\tlatency_sd_s\timages_per_s\ttflops_per_device\t"
      "peak_memory_gb\tpublished_parameters_m\tpublished_latency_s\tpublished_tflops_per_device\tpublished_memory_gb\t"
      "published_source\tfailure\n";
  const auto plain = [](std::string field) {
    std::replace_if(
        field.begin(), field.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    return field;
  };
  for (const SuiteRow& row : rows) {
    const PublishedFigures& published = row.asked.published;
    text += fmt::format("{}\t{}\t{}\t{}\t", plain(suite.title), plain(machine), row.asked.devices, row.ranks);
    text += row.failure.empty()
                ? fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t", row.batch_size, row.micro_batch, row.parameters,
                              row.latency_s, row.latency_sd_s, row.images_per_s, row.tflops_per_device, row.memory_gb)
                : "\t\t\t\t\t\t\t\t";
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", tsv_field(published.parameters_m), tsv_field(published.latency_s),
                        tsv_field(published.tflops_per_device), tsv_field(published.memory_gb), plain(suite.source),
                        plain(row.failure));
  }
  return text;
}

}  // namespace tessera
