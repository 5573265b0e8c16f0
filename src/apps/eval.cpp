#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "apps/command.h"
#include "apps/model_arguments.h"
#include "apps/output_file.h"
#include "apps/ranks.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "core/rank_status.h"
#include "data/cache/cached_dataset.h"
#include "data/check/data_look.h"
#include "data/datasets/data_line.h"
#include "data/datasets/dataset_factory.h"
#include "infer/data_notes.h"
#include "infer/eval_metrics.h"
#include "infer/evaluator.h"
#include "infer/image_scores.h"
#include "infer/other_images.h"
#include "infer/rank_consensus.h"
#include "metric/resampling.h"

namespace tessera {
namespace {

constexpr int64_t kImagesCompared = 8;  // with those of training

struct EvalArguments {
  ModelArguments model;
  std::string output, images, split = "val";
  std::vector<std::string> words;  // CONFIG, key=value ...
  bool json = false, on_train = false;
  RankArguments ranks;

  Split measured() const {
    if (on_train || split == "train") return Split::kTrain;
    return split == "test" ? Split::kTest : Split::kVal;
  }

  void sort_words();
};

void EvalArguments::sort_words() {
  for (const std::string& word : words) {
    if (word.find('=') != std::string::npos) {
      model.overrides.push_back(word);
    } else if (model.config.empty()) {
      model.config = word;
    } else {
      fail_usage("two configs: {} and {}; expected one, then key=value pairs", model.config, word);
    }
  }
}

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

void print_table(const ClassTable& classes, const EvalResult& result, const std::map<std::string, Interval>& intervals) {
  print_classes(classes, result);
  print_objects(classes, result);
  for (const auto& [name, value] : mean_metrics(result)) {
    fmt::print("{:<28} {:.6f}", name, value);
    if (const auto found = intervals.find(name); found != intervals.end())
      fmt::print("  95 % interval {:.4f} to {:.4f}", found->second.low, found->second.high);
    fmt::print("\n");
  }
  fmt::print("{:<28} {} ({} bad left out)\n", "images", result.num_images, result.num_bad);
  if (!result.windows_for_memory.empty()) fmt::print("{:<28} {}\n", "for want of memory", result.windows_for_memory);
}

// How far each metric would move with other images of this kind: Note [Resampling images]. Those that have no interval are left
// out.
std::map<std::string, Interval> intervals_of(const ClassTable& classes, const EvalResult& result) {
  std::vector<ImageCounts> images;
  for (const ImageScore& image : result.images) images.push_back(image.counts);
  const std::vector<std::string> names = counted_metric_names(classes.names);
  const std::vector<Interval> all = metric_intervals(images, {.num_classes = classes.size(), .overlap = classes.multi_label});
  std::map<std::string, Interval> known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!std::isnan(all[i].low)) known[names[i]] = all[i];
  }
  return known;
}

// Files that came or went may change which images data.val_share holds out. Data that was asked for is not the run's.
void warn_of_other_images(const TrainedModel& trained, const Dataset& val, const EvalArguments& arguments) {
  const auto& overrides = arguments.model.overrides;
  const bool other_data =
      std::any_of(overrides.begin(), overrides.end(), [](const auto& text) { return text.starts_with("data."); });
  if (arguments.measured() != Split::kVal || other_data) return;
  if (const std::string how = other_val_samples(trained.samples, val); !how.empty())
    log_warn("the validation images are not those of the run ({}); it may have been trained on some of them", how);
}

// What to do where a split has no image.
std::string_view way_out(Split split) {
  switch (split) {
    case Split::kTrain: return "the training split has no image; check data.path, data.train.list and data.val_share";
    case Split::kVal:
      return "the validation split has no image; set data.val_share above 0, data.val.list or data.val.images (eval takes them "
             "as key=value), or measure on the training images with --split train";
    case Split::kTest: break;
  }
  return "the test split has no image: the data has no folder called test; set data.test.images and data.test.masks, or "
         "data.test.list (eval takes them as key=value)";
}

DatasetPtr open_data(const DataConfig& config, Split split) {
  DatasetPtr dataset = make_dataset(config, split);
  TSR_CHECK(dataset->size() > 0, "there is nothing to evaluate: {}", way_out(split));
  TSR_CHECK(dataset->origin().labelled,
            "the {0} split ({1}) has no masks to compare with; `tessera predict` applies the model to its images. Where it has "
            "some, name both folders: data.{0}.images and data.{0}.masks",
            name_of(split), dataset->origin().text);
  dataset->check_labels();
  return with_cache(std::move(dataset), config);
}

void evaluate(const EvalArguments& arguments, World& world, const std::string& device) {
  for (const std::string& file : {arguments.output, arguments.images}) {
    if (world.is_first() && !file.empty()) check_output_file(file);
  }
  const TrainedModel trained = arguments.model.load(device);
  const Experiment& experiment = trained.experiment;
  if (world.is_first()) log_info("{}", trained.title());
  const Split split = arguments.measured();
  const DatasetPtr dataset = open_data(experiment.data, split);
  if (world.is_first()) {
    announce_data(experiment.data, {{split, dataset}});
    warn_of_other_images(trained, *dataset, arguments);
    const DataLook look = look_at_data(*dataset, kImagesCompared, experiment.train.seed,
                                       loader_threads(experiment.data.threads, world.spec.local_world_size));
    const ImageFacts facts = facts_of(look, *dataset, experiment.data, experiment.train.seed);
    if (const std::string how = unlike_training(trained.images, facts); !how.empty())
      log_warn("the images are not like those of training: {}", how);
  }
  TSR_CHECK(dataset->classes().names == trained.classes.names,
            "the model knows {} classes and the data has {}, or their names differ; use the data it was trained for",
            trained.classes.size(), dataset->classes().size());
  Evaluator evaluator(experiment, dataset, world, split == Split::kTest ? Split::kTest : Split::kVal);
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
  const std::map<std::string, Interval> intervals = intervals_of(trained.classes, result);
  nlohmann::json fields = eval_json(trained.classes, result);
  for (const auto& [name, interval] : intervals) fields["intervals"][name] = {interval.low, interval.high};
  if (arguments.json) {
    fmt::print("{}\n", json_text(fields, 2));
  } else {
    print_table(trained.classes, result, intervals);
  }
  // Last: where it fails, what was measured has been said.
  if (!arguments.output.empty()) write_file(arguments.output, json_text(fields, 2));
  if (!arguments.images.empty())
    write_evaluated_images(arguments.images, {.classes = trained.classes.names,
                                              .overlap = trained.classes.multi_label,
                                              .step = trained.step.value_or(-1),
                                              .data = std::string(name_of(split)),
                                              .images = result.images});
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "measure a trained model on its validation data");
  arguments->model.add_to(*command);
  arguments->ranks.add_to(*command);
  CLI::Option* split = command
                           ->add_option("--split", arguments->split,
                                        "images to measure on: train, val or test (train with the validation transforms)")
                           ->check(CLI::IsMember({"train", "val", "test"}))
                           ->capture_default_str();
  command->add_flag("--train-split", arguments->on_train, "the same as --split train")->excludes(split);
  command->add_flag("--json", arguments->json, "print the result as JSON");
  command->add_option("-o,--output", arguments->output, "also write the JSON to this file");
  command->add_option("--images", arguments->images,
                      "write what was counted in each image to this file, for `tessera compare`");
  command
      ->add_option(
          "words", arguments->words,
          "a config, where it is no run that is measured; values to set: eval.flip=true eval.metrics=[boundary,objects] "
          "data.path=...")
      ->option_text("[CONFIG] key=value ...");
  command->footer([] {
    return "A run:            tessera eval -w runs/cells eval.flip=true\n"
           "Anyone's weights: tessera eval pspnet/r50_ade20k_80k model.pretrained=pspnet.pth "
           "data.path=ADEChallengeData2016\n\n" +
           metric_help();
  });
  command->callback([arguments, &exit_code] {
    arguments->sort_words();
    const Experiment experiment = arguments->model.experiment();
    run_on_ranks(arguments->ranks, experiment, identity_of(experiment),
                 [&](World& world, const std::string& device) { evaluate(*arguments, world, device); });
    exit_code = 0;
  });
}

}  // namespace tessera
