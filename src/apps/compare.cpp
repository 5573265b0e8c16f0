#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/command.h"
#include "apps/compare_pictures.h"
#include "apps/output_file.h"
#include "apps/short_names.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/plural.h"
#include "core/printable.h"
#include "infer/model_comparison.h"
#include "report/comparison_page.h"

namespace tessera {
namespace {

struct CompareArguments {
  std::vector<std::string> given;  // run folders, or files of tessera eval --images
  std::string output = "compare.html";
  bool json = false, last = false;
  int rounds = 2000, pictures = 6;
};

// One of the models: where its counts are, and its run where it is one.
struct Given {
  std::string name;
  fs::path run;  // empty: a file was given
  EvaluatedImages evaluated;
};

fs::path counts_of_run(const fs::path& run, bool last) {
  std::error_code error;
  const fs::path best = run / "evaluations/best.json", newest = run / "evaluations/last.json";
  if (!last && fs::exists(best, error)) return best;
  const bool there = fs::exists(newest, error);
  TSR_CHECK(error != std::errc::permission_denied,
            "cannot read {}: {}; a run is its owner's alone until they give it away: chmod -R go+rX {}", newest.string(),
            error.message(), run.string());
  TSR_CHECK(there,
            "{0} keeps no counts of single images (expected {0}/evaluations/last.json, which a run writes when it evaluates): "
            "`tessera eval -w {0} --images FILE` measures it, and compare takes FILE in its place",
            run.string());
  return newest;
}

Given open_given(const std::string& path, const std::string& name, bool last) {
  std::error_code error;
  TSR_CHECK_USAGE(fs::exists(path, error), "there is no {}; expected a run folder, or a file of `tessera eval --images`", path);
  if (!fs::is_directory(path, error)) return {name, {}, read_evaluated_images(path)};
  return {name, path, read_evaluated_images(counts_of_run(path, last))};
}

std::string facts_of(const Given& model, const std::string& path) {
  std::string text = model.run.empty() ? "file " + path : path;
  if (model.evaluated.step >= 0) text += fmt::format(", step {}", model.evaluated.step);
  return text + fmt::format(", measured on {} images", model.evaluated.images.size());
}

ComparedMetric page_metric(const ModelComparison& comparison, size_t metric, std::string name) {
  ComparedMetric row{.name = std::move(name)};
  for (const ComparedModel& model : comparison.models) {
    ComparedValue value{
        .value = model.values[metric], .low = model.intervals[metric].low, .high = model.intervals[metric].high};
    if (!model.differences.empty()) {
      const PairedDifference& difference = model.differences[metric];
      value.difference = difference.value;
      value.difference_low = difference.interval.low;
      value.difference_high = difference.interval.high;
      value.p = model.p[metric];
      value.verdict = verdict(difference.value, value.p);
    }
    row.models.push_back(value);
  }
  return row;
}

// Every value of a run's config by its key.
std::map<std::string, std::string> settings_of(const fs::path& run) {
  std::map<std::string, std::string> values;
  std::error_code error;
  if (run.empty() || !fs::exists(run / "config.yaml", error)) return values;
  const fs::path file = run / "config.yaml";
  Experiment experiment = read_experiment(parse_config(read_text(file), file.string()), MissingSecrets::kKeep);
  for (const SchemaLine& line : experiment_lines(experiment)) {
    if (!line.is_group && !line.key.starts_with("run.")) values[line.key] = line.value;
  }
  return values;
}

std::vector<ComparedSetting> differing_settings(const std::vector<Given>& models) {
  std::vector<std::map<std::string, std::string>> all;
  std::map<std::string, std::vector<std::string>> by_key;
  for (const Given& model : models) all.push_back(settings_of(model.run));
  for (const auto& values : all) {
    for (const auto& entry : values) by_key[entry.first];
  }
  std::vector<ComparedSetting> differing;
  for (auto& [key, values] : by_key) {
    for (const auto& own : all) values.push_back(own.contains(key) ? own.at(key) : "–");
    if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end())
      differing.push_back({key, values});
  }
  return differing;
}

// The curves of one kind of all runs, in one chart.
std::vector<Curve> curves_over_each_other(const std::vector<Given>& models) {
  constexpr std::array<const char*, 3> kCharts = {"loss", "metrics", "lr"};
  std::vector<Curve> charts;
  for (const char* id : kCharts) {
    std::optional<Curve> chart;
    for (const Given& model : models) {
      std::error_code error;
      if (model.run.empty() || !fs::exists(model.run / "log.jsonl", error)) continue;
      for (Curve& own : make_curves(read_run_log(model.run / "log.jsonl"))) {
        if (own.id != id) continue;
        if (!chart) chart = Curve{.id = own.id, .title = own.title, .wide = own.wide, .percent = own.percent};
        // The smoothed loss, the first metric: one line a run.
        CurveSeries& series = own.series.size() > 1 && own.series[0].look == SeriesLook::kFaint ? own.series[1] : own.series[0];
        if (std::string(id) == "metrics") chart->title = "Validation, " + series.label;
        chart->series.push_back({.label = model.name, .look = SeriesLook::kLine, .x = series.x, .y = series.y});
      }
    }
    if (chart) charts.push_back(std::move(*chart));
  }
  return charts;
}

nlohmann::json number(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json to_json(const ModelComparison& comparison) {
  nlohmann::json models = nlohmann::json::array();
  for (const ComparedModel& model : comparison.models) {
    nlohmann::json metrics;
    for (size_t m = 0; m < comparison.metrics.size(); ++m) {
      nlohmann::json& entry = metrics[comparison.metrics[m]];
      entry = {{"value", number(model.values[m])},
               {"interval", {number(model.intervals[m].low), number(model.intervals[m].high)}}};
      if (model.differences.empty()) continue;
      const PairedDifference& difference = model.differences[m];
      entry["difference"] = number(difference.value);
      entry["difference_interval"] = {number(difference.interval.low), number(difference.interval.high)};
      entry["p"] = number(model.p[m]);
    }
    models.push_back({{"name", model.name}, {"metrics", metrics}});
  }
  return {{"images", comparison.images.size()},
          {"left_out", comparison.left_out},
          {"confidence", comparison.confidence},
          {"models", models}};
}

// Means, then the classes that are told apart.
void print_comparison(const ModelComparison& comparison) {
  fmt::print("{} {}{}\n", comparison.images.size(), plural(std::ssize(comparison.images), "image"),
             comparison.left_out > 0 ? fmt::format(", {} that only some have left out", comparison.left_out) : "");
  for (size_t m = 0; m < comparison.metrics.size(); ++m) {
    const bool of_class = comparison.metrics[m].find('/') != std::string::npos;
    const auto told_apart = [&](const ComparedModel& model) { return !model.p.empty() && model.p[m] <= kSignificant; };
    if (of_class && (!comparison.metrics[m].starts_with("iou/") ||
                     std::none_of(comparison.models.begin(), comparison.models.end(), told_apart)))
      continue;
    fmt::print("\n{}\n", printable(comparison.metrics[m]));
    for (const ComparedModel& model : comparison.models) {
      fmt::print("  {:<28} {:.4f}", printable(model.name), model.values[m]);
      if (!std::isnan(model.intervals[m].low))
        fmt::print("  [{:.4f}, {:.4f}]", model.intervals[m].low, model.intervals[m].high);
      if (!model.differences.empty() && !std::isnan(model.p[m])) {
        const PairedDifference& difference = model.differences[m];
        fmt::print("  {:+.4f} [{:+.4f}, {:+.4f}]  p = {:.4f}  {}", difference.value, difference.interval.low,
                   difference.interval.high, model.p[m], verdict(difference.value, model.p[m]));
      }
      fmt::print("\n");
    }
  }
}

ComparisonInput page_input(const ModelComparison& comparison, const std::vector<Given>& models,
                           const CompareArguments& arguments) {
  ComparisonInput input{
      .images = std::ssize(comparison.images), .left_out = comparison.left_out, .confidence = comparison.confidence};
  for (size_t i = 0; i < models.size(); ++i) {
    input.models.push_back(models[i].name);
    input.facts.push_back(facts_of(models[i], arguments.given[i]));
  }
  for (size_t m = 0; m < comparison.metrics.size(); ++m) {
    const std::string& metric = comparison.metrics[m];
    if (metric.find('/') == std::string::npos) input.means.push_back(page_metric(comparison, m, metric_label(metric)));
    if (metric.starts_with("iou/")) input.classes.push_back(page_metric(comparison, m, metric.substr(4)));
  }
  input.settings = differing_settings(models);
  input.curves = curves_over_each_other(models);
  input.legend = "Image, label";
  for (const Given& model : models) input.legend += ", " + model.name;
  return input;
}

void compare(const CompareArguments& arguments) {
  if (!arguments.output.empty()) check_output_file(arguments.output);
  const std::vector<std::string> names = short_names(arguments.given);
  std::vector<Given> models;
  for (size_t i = 0; i < names.size(); ++i) models.push_back(open_given(arguments.given[i], names[i], arguments.last));
  std::vector<NamedImages> counts;
  for (const Given& model : models) counts.push_back({model.name, model.evaluated});
  const ModelComparison comparison = compare_models(counts, {.rounds = arguments.rounds});
  if (arguments.json) {
    fmt::print("{}\n", json_text(to_json(comparison), 2));
  } else {
    print_comparison(comparison);
  }
  if (arguments.output.empty()) return;
  ComparisonInput input = page_input(comparison, models, arguments);
  std::vector<fs::path> runs;
  for (const Given& model : models) runs.push_back(model.run);
  try {
    input.pictures = draw_differing_images(comparison, runs, arguments.last, arguments.pictures);
  } catch (const Error& e) {
    log_warn("the images that differ most are not drawn: {}", e.what());
  }
  write_file(arguments.output, render_comparison(input));
  log_info("{}", arguments.output);
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "two or more trained models: what differs, how much better each is, and whether that is more than chance");
  command
      ->add_option(
          "models", arguments->given,
          "run folders, or files written by `tessera eval --images`; the first is what the others are measured against")
      ->option_text("RUN RUN ...")
      ->required()
      ->expected(2, 100);
  command->add_option("-o,--output", arguments->output, "the page that is written; \"\": none")->capture_default_str();
  command->add_flag("--json", arguments->json, "print the result as JSON");
  command->add_flag("--last", arguments->last, "of each run the newest evaluation, not that of its best checkpoint");
  command
      ->add_option("--pictures", arguments->pictures,
                   "how many of the images that differ most are drawn, which needs the runs' weights and data")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--rounds", arguments->rounds, "how often images are drawn anew for intervals and p")
      ->check(CLI::Range(100, 1000000))
      ->capture_default_str();
  command->footer(
      "Intervals (95 %) say how much a metric would move with other validation images; p is how often a difference at least as "
      "large comes about when the models' predictions are exchanged at random, image by image. Neither knows how much another "
      "seed of training changes: train several.\n"
      "docs/evaluation.md tells more.");
  command->callback([arguments] { compare(*arguments); });
}

}  // namespace tessera
