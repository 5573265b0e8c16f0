#include "apps/auto_config.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include "apps/bench_model.h"
#include "apps/data_asked.h"
#include "apps/train_command.h"
#include "config/data_places.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "data/batch/loader.h"
#include "data/check/auto_recipe.h"
#include "data/check/data_advice.h"
#include "data/check/sample_choice.h"
#include "data/datasets/dataset_factory.h"
#include "data/transforms/make_pipeline.h"
#include "infer/auto_precision.h"
#include "infer/torch_settings.h"
#include "tensor/device.h"
#include "train/class_weights.h"
#include "train/run_folder.h"
#include "train/train_step.h"
#include "weights/fetch/weight_cache.h"

namespace tessera {
namespace {

constexpr double kUsualMinutes = 60;
constexpr const char* kAutoWord = "recipe=auto";

ConfigArguments without_recipe(ConfigArguments arguments) {
  std::erase_if(arguments.words, [](const std::string& word) { return word.starts_with("recipe="); });
  return arguments;
}

DeviceFacts device_facts(const Experiment& experiment) {
  const at::Device device = pick_device(experiment.train.device);
  DeviceFacts facts;
  facts.gpu = device.is_cuda();
  if (facts.gpu) {
    const std::vector<GpuInfo> gpus = cuda_plugin()->gpus();
    facts.name = gpus.at(static_cast<size_t>(std::max(0, int{device.index()}))).name;
  } else {
    facts.name = fmt::format("{} CPU cores", cpu_budget().cpus());
  }
  try {
    facts.pretrained = is_cached(find_source("resnet34.imagenet1k_v1"));
  } catch (const Error&) {  // no folder for a cache
  }
  return facts;
}

// A network that is shown one class learns to say it, and no error would tell.
void check_learnable(const DataFingerprint& data, const std::string& path) {
  const auto shown = std::count_if(data.classes.begin(), data.classes.end(), [](const auto& one) { return one.pixels > 0; });
  if (shown >= (data.multi_label ? 1 : 2)) return;
  const auto only = std::find_if(data.classes.begin(), data.classes.end(), [](const auto& one) { return one.pixels > 0; });
  const std::string what =
      only == data.classes.end() ? "nothing is labelled" : fmt::format("nothing is labelled but '{}'", printable(only->name));
  if (data.looked_at < data.samples)
    return log_warn("{}: in the {} training samples looked at {}", printable(path), data.looked_at, what);
  fail_usage(
      "{}: in all {} training samples {}: there is nothing to learn; `tessera data browse` shows them, and what masks mean "
      "data.labels says (docs/data.md)",
      printable(path), data.samples, what);
}

// How the values of the masks were read, and what else they may mean.
std::string say_labels(const LabelAdvice& labels) {
  if (labels.reading.empty()) return "";
  std::string text = "Masks: " + labels.reading;
  for (const std::string& other : labels.others) text += "; " + other;
  return text;
}

// Where and what the data are: everything that is set beside the defaults.
std::vector<CommentedValue> data_choices(const DataAdvice& advice, const std::string& name) {
  constexpr std::array kChosenLater = {"data.train.transforms", "data.val.transforms", "data.normalize.", "data.sampler",
                                       "data.balance."};
  Experiment experiment, defaults;
  experiment.data = advice.config;
  std::string labels = say_labels(advice.labels);
  make_data_places_absolute(experiment);
  std::map<std::string, std::string> before;
  for (const SchemaLine& line : experiment_lines(defaults)) before[line.key] = line.value;
  std::vector<CommentedValue> choices;
  if (!name.empty()) choices.push_back({"run.name", name, "the folder's own"});
  for (const SchemaLine& line : experiment_lines(experiment)) {
    const bool later =
        std::any_of(kChosenLater.begin(), kChosenLater.end(), [&](const char* key) { return line.key.starts_with(key); });
    if (line.is_group || !line.key.starts_with("data.") || later || !line.alias_of.empty()) continue;
    if (line.key != "data.path" && line.key != "data.type" && line.value == before[line.key]) continue;
    CommentedValue& choice = choices.emplace_back(CommentedValue{line.key, line.value, ""});
    if (line.key == "data.type") choice.reason = "as the files are, `tessera data check` says more";
    if (line.key == "data.classes" || line.key.starts_with("data.labels.")) choice.reason = std::exchange(labels, "");
  }
  return choices;
}

// Seconds of an optimizer step on the first batch of the run, from the data that training has.
double step_seconds(Experiment experiment, const Dataset& data) {
  constexpr int64_t kWarm = 2, kTimed = 3, kAll = 1000;
  constexpr double kLong = 2;  // seconds: of such steps one says enough
  const at::Device device = pick_device(experiment.train.device);
  experiment.train.precision = pick_precision(experiment.train.precision, device);
  const TorchSettings settings(experiment.train, device);
  const int num_classes = data.classes().size();
  take_equal_weights(experiment.loss, num_classes);
  const ModelPtr model = make_model(experiment, num_classes);
  World alone;
  TrainStep step(experiment, model, num_classes, device, alone, {});
  const Pipeline pipeline = make_pipeline(experiment.data, Split::kTrain);
  Quarantine quarantine(data.size(), 1.0);
  Batch batch = Loader(data, pipeline, quarantine,
                       {.batch_size = experiment.train.batch_size,
                        .seed = experiment.train.seed,
                        .mix = {experiment.train.mixup, experiment.train.cutmix},
                        .threads = loader_threads(experiment.data.threads, 1)},
                       0)
                    .next();
  double seconds = 0;
  int64_t timed = 0;
  for (int64_t i = 0; i < kWarm + kTimed; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    step.run(batch, {i, kAll, kAll});
    synchronize(device);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i < kWarm && took < kLong) continue;
    seconds += took;
    ++timed;
    if (took >= kLong) break;
  }
  return seconds / static_cast<double>(timed);
}

// Makes the choices alone the experiment that was asked for: with what the config and the words beside it say.
void keep_given(std::vector<CommentedValue>& choices, Experiment asked, const fs::path& config) {
  if (asked.run.name == config.stem().string()) asked.run.name.clear();  // the new one has a name of its own
  Experiment alone = read_experiment(parse_config(commented_config(choices), "recipe auto"));
  make_data_places_absolute(asked);
  make_data_places_absolute(alone);
  std::map<std::string, std::string> chosen;
  for (const SchemaLine& line : experiment_lines(alone)) chosen[line.key] = line.value;
  for (const SchemaLine& line : experiment_lines(asked)) {
    if (line.is_group || !line.alias_of.empty() || chosen[line.key] == line.value) continue;
    auto found = std::find_if(choices.begin(), choices.end(), [&](const CommentedValue& one) { return one.key == line.key; });
    if (found == choices.end()) found = choices.insert(choices.end(), {line.key, "", ""});
    found->value = line.value;
    found->reason = "as given, or follows from what is";
  }
}

std::string header(const DataFingerprint& data, const DeviceFacts& device, const std::string& path) {
  std::string text = fmt::format(
      "# Made by `tessera recipe auto` for {} on {}.\n# {} training samples, {} looked at: {} x {} pixels in the middle ({} x "
      "{} to {} x {}), {} {}, {}.\n",
      printable(path), device.name, data.samples, data.looked_at, data.median.height, data.median.width, data.smallest.height,
      data.smallest.width, data.largest.height, data.largest.width, data.channels, data.channels == 1 ? "channel" : "channels",
      data.depth);
  constexpr size_t kShown = 20;
  for (size_t k = 0; k < std::min(kShown, data.classes.size()); ++k) {
    const DataFingerprint::Class& one = data.classes[k];
    text += fmt::format("#   {:<24} {:>6.2f} % of the labelled pixels, in {:.0f} % of the images\n", printable(one.name),
                        100 * one.pixels, 100 * one.images);
  }
  if (data.classes.size() > kShown) text += fmt::format("#   and {} more classes\n", data.classes.size() - kShown);
  return text;
}

}  // namespace

bool asks_for_auto(const std::vector<std::string>& words) {
  std::string last;
  for (const std::string& word : words) {
    if (word.starts_with("recipe=")) last = word;
  }
  return last == kAutoWord;
}

AutoConfig make_auto_config(const ConfigArguments& given, double minutes) {
  const ConfigArguments arguments = without_recipe(given);
  const AskedData asked(arguments);
  const int threads = loader_threads(asked.experiment.data.threads, 1);
  const bool open_classes = !asked.own_config && !asked.names_given;  // the rarest may show in one mask of all
  const DataAdvice advice = advise_data(asked.experiment, asked.names_given, threads, /*all_masks=*/open_classes);
  if (!advice.labels.mistake.empty()) fail_usage("{}: {}", asked.experiment.data.path, advice.labels.mistake);
  const DatasetPtr data = make_dataset(advice.config, Split::kTrain);
  const DataFingerprint fingerprint = fingerprint_of(*data, kSamplesLookedAt, asked.experiment.train.seed, threads);
  check_learnable(fingerprint, advice.config.path);
  const DeviceFacts device = device_facts(asked.experiment);
  const std::string name = arguments.file().empty() ? run_name_for(advice.config.path) : "";
  std::vector<CommentedValue> choices = data_choices(advice, name);
  const std::vector<CommentedValue> chosen = choose_recipe(fingerprint, device);
  choices.insert(choices.end(), chosen.begin(), chosen.end());

  std::vector<std::string> words = arguments.overrides();
  words.emplace_back(kAutoWord);
  const auto experiment_of = [&](const std::string& text) {
    const Node made = parse_config(text, "recipe auto");
    return read_experiment(compose(arguments.file(), words, &made));
  };
  const Experiment untimed = experiment_of(commented_config(choices));
  const double seconds = step_seconds(untimed, *data);
  choices.push_back(choose_duration(fingerprint, untimed.train.batch_size, seconds, 60 * minutes));
  const Experiment experiment = experiment_of(commented_config(choices));
  keep_given(choices, experiment, arguments.file());
  return {header(fingerprint, device, advice.config.path) + commented_config(choices), experiment};
}

Experiment load_auto(const ConfigArguments& arguments, bool resume) {
  if (resume) {
    const ConfigArguments plain = without_recipe(arguments);
    Experiment named = plain.load();
    if (plain.file().empty() && named.run.name.empty() && named.run.dir.empty()) named.run.name = run_name_for(named.data.path);
    const fs::path kept = run_folder(named) / "config.yaml";
    std::error_code error;
    if (fs::exists(kept, error)) {
      const Node before = parse_config(read_text(kept), kept.string());
      return read_experiment(compose(plain.file(), arguments.overrides(), &before));
    }
  }
  AutoConfig made = make_auto_config(arguments, kUsualMinutes);
  log_info("recipe=auto chose (`tessera recipe auto` writes it to a file):\n{}", made.text);
  return std::move(made.experiment);
}

}  // namespace tessera
