#include <algorithm>
#include <optional>

#include "apps/command.h"
#include "apps/output_file.h"
#include "apps/ranks.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "core/rank_status.h"
#include "data/datasets/dataset_factory.h"
#include "infer/data_notes.h"
#include "infer/eval_metrics.h"
#include "infer/evaluator.h"
#include "infer/rank_consensus.h"
#include "infer/trained_model.h"

namespace tessera {
namespace {

struct EvalArguments {
  std::string weights, output;
  std::vector<std::string> overrides;
  bool json = false, on_train = false, raw = false;
  RankArguments ranks;
};

void print_classes(const ClassTable& classes, const EvalResult& result) {
  const bool boundaries = !result.boundaries.empty();
  fmt::print("{:<28} {:>8} {:>9} {:>8} {:>8}{} {:>12}\n", "class", "IoU", "precision", "recall", "F1",
             boundaries ? "  boundary IoU" : "", "pixels");
  for (size_t c = 0; c < classes.names.size(); ++c) {
    const ClassScore& score = result.report.classes[c];
    fmt::print("{:<28} {:>8.4f} {:>9.4f} {:>8.4f} {:>8.4f}", printable(classes.names[c]), score.iou, score.precision,
               score.accuracy, score.dice);
    if (boundaries) fmt::print(" {:>13.4f}", result.boundaries[c].iou());
    fmt::print(" {:>12}\n", score.pixels);
  }
  fmt::print("\n");
}

void print_objects(const ClassTable& classes, const EvalResult& result) {
  if (result.objects.empty()) return;
  fmt::print("{:<28} {:>8} {:>9} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8}\n", "objects of", "labelled", "predicted", "matched",
             "precision", "recall", "F1", "SQ", "PQ");
  for (size_t c = 0; c < classes.names.size(); ++c) {
    if (!result.object_classes[c]) continue;
    const ObjectCounts& counts = result.objects[c];
    const ClassCounts& found = counts.found;
    fmt::print("{:<28} {:>8} {:>9} {:>8} {:>9.4f} {:>8.4f} {:>8.4f} {:>8.4f} {:>8.4f}\n", printable(classes.names[c]),
               found.labelled(), found.predicted(), found.tp, found.precision(), found.recall(), found.f1(),
               counts.segmentation_quality(), counts.panoptic_quality());
  }
  fmt::print("\n");
}

void print_table(const ClassTable& classes, const EvalResult& result) {
  print_classes(classes, result);
  print_objects(classes, result);
  for (const auto& [name, value] : mean_metrics(result)) fmt::print("{:<28} {:.6f}\n", name, value);
  fmt::print("{:<28} {} ({} bad left out)\n", "images", result.num_images, result.num_bad);
  if (!result.windows_for_memory.empty()) fmt::print("{:<28} {}\n", "for want of memory", result.windows_for_memory);
}

// Files that came or went may change which images data.val_share holds out. Data that was asked for is not the run's.
void warn_of_other_images(const TrainedModel& trained, const Dataset& val, const EvalArguments& arguments) {
  const auto& overrides = arguments.overrides;
  const bool other_data =
      std::any_of(overrides.begin(), overrides.end(), [](const auto& text) { return text.starts_with("data."); });
  if (arguments.on_train || other_data) return;
  if (const std::string how = other_val_samples(trained.samples, val); !how.empty())
    log_warn("the validation images are not those of the run ({}); it may have been trained on some of them", how);
}

void evaluate(const EvalArguments& arguments, World& world, const std::string& device) {
  if (world.is_first() && !arguments.output.empty()) check_output_file(arguments.output);
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back("train.device=" + device);
  const TrainedModel trained = load_trained(arguments.weights, overrides);
  const Experiment& experiment = trained.experiment;
  if (world.is_first()) log_info("{}", trained.title());
  const DatasetPtr dataset = make_dataset(experiment.data, arguments.on_train ? Split::kTrain : Split::kVal);
  TSR_CHECK(dataset->size() > 0, "there is nothing to evaluate: {}",
            arguments.on_train
                ? "the training split has no image; check data.path, data.train.list and data.val_share"
                : "the validation split has no image; set data.val_share above 0, data.val.list or data.val.images "
                  "(eval takes them as key=value), or measure on the training images with --train-split");
  dataset->check_labels();
  if (world.is_first()) warn_of_other_images(trained, *dataset, arguments);
  TSR_CHECK(dataset->classes().names == trained.classes.names,
            "the model knows {} classes and the data has {}, or their names differ; use the data it was trained for",
            trained.classes.size(), dataset->classes().size());
  Evaluator evaluator(experiment, dataset, world);
  std::optional<ProgressBar> bar;
  if (world.is_first()) bar.emplace("eval", evaluator.own_images());
  enter_phase(RankPhase::kEvaluating);
  const EvalResult part = evaluator.run(trained.predictor(), [&](int64_t done) {
    if (bar) bar->update(done);
  });
  const EvalResult result = merged(world, part, trained.classes.size());
  const auto bad_samples = all_bad_samples(world, evaluator.quarantine().take_new());
  if (!world.is_first()) return;
  for (const auto& bad : bad_samples) log_warn("bad sample {}: {}; left out", printable(bad.id), printable(bad.reason));
  if (const std::string unmeasured = unmeasured_classes(result.report, trained.classes); !unmeasured.empty())
    log_warn("{}", unmeasured);
  const nlohmann::json fields = eval_json(trained.classes, result);
  if (arguments.json) {
    fmt::print("{}\n", json_text(fields, 2));
  } else {
    print_table(trained.classes, result);
  }
  // Last: where it fails, what was measured has been said.
  if (!arguments.output.empty()) write_file(arguments.output, json_text(fields, 2));
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "measure a trained model on its validation data");
  command->add_option("-w,--weights", arguments->weights, "run folder (its best checkpoint) or checkpoint folder")->required();
  arguments->ranks.add_to(*command);
  command->add_flag("--train-split", arguments->on_train,
                    "measure on the training images instead (with the validation transforms)");
  command->add_flag("--raw-weights", arguments->raw,
                    "measure the weights as trained where the run also has their moving average (eval.weights=raw)");
  command->add_flag("--json", arguments->json, "print the result as JSON");
  command->add_option("-o,--output", arguments->output, "also write the JSON to this file");
  command
      ->add_option("overrides", arguments->overrides,
                   "values to set: eval.flip=true eval.metrics=[boundary,objects] data.path=...")
      ->option_text("key=value ...");
  command->footer([] { return metric_help(); });
  command->callback([arguments, &exit_code] {
    if (arguments->raw) arguments->overrides.emplace_back("eval.weights=raw");
    const Experiment experiment = trained_experiment(arguments->weights, arguments->overrides);
    run_on_ranks(arguments->ranks, experiment, identity_of(experiment),
                 [&](World& world, const std::string& device) { evaluate(*arguments, world, device); });
    exit_code = 0;
  });
}

}  // namespace tessera
