#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "data/datasets/class_count.h"
#include "nn/model.h"
#include "nn/summary.h"

namespace tessera {
namespace {

struct ModelsArguments {
  std::string name;
  std::vector<std::string> overrides;
  int64_t size = 512, classes = 0, depth = 4;  // classes 0: not given
  bool json = false, segments = false;
};

constexpr int64_t kUsualClasses = 150;

// The channels of the model's logits: as asked for; else as training with the config would make them; else as for ADE20K.
int64_t logits_of(const ModelsArguments& arguments, const Experiment& experiment) {
  if (arguments.classes > 0) return arguments.classes;
  const std::optional<int> of_data = class_count(experiment.data);
  const int64_t classes = experiment.model.num_classes > 0 ? experiment.model.num_classes : of_data.value_or(0);
  return classes > 0 ? logit_channels(experiment.loss, static_cast<int>(classes), experiment.data.labels.multi) : kUsualClasses;
}

// name: a registered model, or a config that describes one: a file, or a built-in one by its whole name, which has a '/'.
ModelSummary summary_of(const ModelsArguments& arguments, const std::string& name) {
  const bool is_config =
      name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json") || name.find('/') != std::string::npos;
  const Experiment experiment = load_experiment(is_config ? name : "", arguments.overrides);
  ModelConfig config = experiment.model;
  if (!is_config) config.name = name;
  const ModelPtr model = make_model(config, {experiment.data.channels, logits_of(arguments, experiment)}, 0);
  return summarize(*model, experiment.data.channels, arguments.size, arguments.size);
}

nlohmann::json to_json(const LayerSummary& layer) {
  return {{"path", layer.path},
          {"type", layer.type},
          {"output_shape", layer.output_shape},
          {"parameters", layer.parameters},
          {"macs", layer.macs},
          {"elementwise", layer.elementwise},
          {"activations", layer.activations}};
}

nlohmann::json to_json(const SegmentSummary& segment) {
  return {{"name", segment.name},
          {"parameters", segment.parameters},
          {"macs", segment.macs},
          {"elementwise", segment.elementwise},
          {"activations", segment.activations},
          {"state", segment.state}};
}

void list(const ModelsArguments& arguments) {
  nlohmann::json all;
  if (!arguments.json)
    fmt::print("{:<16} {:>14} {:>10} {:>15}   at {} x {}, {} classes\n", "model", "parameters", "GMACs", "activations (M)",
               arguments.size, arguments.size, arguments.classes > 0 ? arguments.classes : kUsualClasses);
  for (const std::string& name : model_names()) {
    const LayerSummary total = summary_of(arguments, name).total();
    if (arguments.json) {
      all[name] = to_json(total);
    } else {
      fmt::print("{:<16} {:>14} {:>10.2f} {:>15.1f}\n", name, total.parameters, static_cast<double>(total.macs) * 1e-9,
                 static_cast<double>(total.activations) * 1e-6);
    }
  }
  if (arguments.json) fmt::print("{}\n", json_text(all, 2));
}

void show_segments(const ModelsArguments& arguments, const ModelSummary& summary) {
  if (arguments.json) {
    nlohmann::json all = nlohmann::json::array();
    for (const SegmentSummary& segment : summary.segments) all.push_back(to_json(segment));
    fmt::print("{}\n", json_text(all, 2));
    return;
  }
  fmt::print("{:<40} {:>14} {:>10} {:>15} {:>10}\n", "segment", "parameters", "GMACs", "activations (M)", "state (M)");
  for (const SegmentSummary& segment : summary.segments) {
    fmt::print("{:<40} {:>14} {:>10.3f} {:>15.3f} {:>10.3f}\n", segment.name, segment.parameters,
               static_cast<double>(segment.macs) * 1e-9, static_cast<double>(segment.activations) * 1e-6,
               static_cast<double>(segment.state) * 1e-6);
  }
}

void show(const ModelsArguments& arguments) {
  const ModelSummary summary = summary_of(arguments, arguments.name);
  if (arguments.segments) return show_segments(arguments, summary);
  if (arguments.json) {
    nlohmann::json layers = nlohmann::json::array();
    for (const LayerSummary& layer : summary.layers) layers.push_back(to_json(layer));
    fmt::print("{}\n", json_text(layers, 2));
    return;
  }
  fmt::print("{:<52} {:<20} {:>14} {:>10}\n", "layer", "output", "parameters", "GMACs");
  for (const LayerSummary& layer : summary.layers) {
    if (layer.depth > arguments.depth) continue;
    const std::string leaf =
        layer.path.empty() ? fs::path(arguments.name).stem().string() : layer.path.substr(layer.path.rfind('.') + 1);
    const std::string shape = layer.output_shape.empty() ? "" : fmt::format("{}", fmt::join(layer.output_shape, " x "));
    fmt::print("{:<52} {:<20} {:>14} {:>10.3f}\n", fmt::format("{:{}}{} ({})", "", layer.depth * 2, leaf, layer.type), shape,
               layer.parameters, static_cast<double>(layer.macs) * 1e-9);
  }
}

}  // namespace

void add_models(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto arguments = std::make_shared<ModelsArguments>();
  CLI::App* command = app.add_subcommand("models",
                                         "the models with their parameters and multiply-accumulates; `models show NAME` for "
                                         "one, layer by layer; `models pretrained` for public weights");
  const auto common = [&](CLI::App* at) {
    at->add_option("--size", arguments->size, "side of the input")->capture_default_str()->check(above_zero());
    at->add_option("--classes", arguments->classes, "classes (default: those of the config's data, else 150)")
        ->check(above_zero());
    at->add_flag("--json", arguments->json, "print as JSON");
  };
  common(command);
  command->require_subcommand(0, 1);
  CLI::App* one = command->add_subcommand("show", "the layers of a model: shapes, parameters, GMACs");
  common(one);
  one->add_option("name", arguments->name,
                  "model, or a config with one: a file, or a built-in one such as base/models/unet_r34")
      ->required();
  one->add_option("overrides", arguments->overrides, "settings: model.backbone.name=resnet101 data.channels=1")
      ->option_text("key=value ...");
  one->add_option("--depth", arguments->depth, "levels to print")->capture_default_str();
  one->add_flag("--segments", arguments->segments,
                "the parts that run one after another, and the values between them, instead");
  one->callback([=] { show(*arguments); });
  add_pretrained(*command);
  command->callback([=] {
    if (command->get_subcommands().empty()) list(*arguments);
  });
}

}  // namespace tessera
