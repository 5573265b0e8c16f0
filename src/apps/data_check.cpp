#include "apps/data_check.h"

#include <errno.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/data_report.h"
#include "apps/train_command.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/name_list.h"
#include "core/plural.h"
#include "core/printable.h"
#include "data/check/data_advice.h"
#include "data/check/data_check.h"
#include "data/check/fault_groups.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/datasets/coco_files.h"
#include "data/datasets/data_line.h"
#include "data/datasets/dataset_factory.h"
#include "data/fetch/fetch_data.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 10, kShownSingly = 3;

struct Checked {
  Split split;
  DataReport report;
  ClassTable classes;
};

// All samples, read as the advice says.
struct Reading {
  std::vector<Checked> checked;
  NormalizeConfig decided;  // of the first split
  std::vector<std::string> notes;
};

Reading read_all(const DataAdvice& advice, const std::vector<Split>& splits, uint64_t seed, int threads) {
  Reading reading{.checked = {}, .decided = advice.config.normalize, .notes = {}};
  // Labels that no setting can make sense of, and no class to read them by: nothing more can be said.
  if (!advice.labels.mistake.empty() && advice.config.classes.empty() && !advice.config.labels.binary) return reading;
  std::vector<OpenSplit> open;
  for (const Split split : splits) open.push_back({split, make_dataset(advice.config, split)});
  announce_data(advice.config, open);
  for (const auto& [split, dataset] : open) {
    if (reading.checked.empty()) {
      const DataLook look = look_at_data(*dataset, kSamplesLookedAt, seed, threads);
      reading.decided = decided_normalize(advice.config, facts_of(look.images));
      reading.notes = range_notes(look.images, reading.decided);
    }
    reading.checked.push_back({split, examine(*dataset, advice.config, split), dataset->classes()});
  }
  return reading;
}

bool has_unknown_values(const Reading& reading) {
  return std::any_of(reading.checked.begin(), reading.checked.end(), [](const Checked& one) {
    const auto groups = group_faults(one.report.faults);
    return std::any_of(groups.begin(), groups.end(), [](const FaultGroup& group) { return group.about_values; });
  });
}

// What a folder of images is trained with where no config is named.
std::string default_config(bool multi_label) {
  const std::string name = multi_label ? "unet_multi_label" : "unet", file = "configs/pairs/" + name + ".yaml";
  std::error_code error;
  return fs::exists(file, error) ? file : name;  // the one that the program carries
}

bool sets(const std::vector<std::string>& overrides, const std::string& key) {
  return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& text) { return text.starts_with(key + "="); });
}

// A config and what was typed beside it. Without a config a folder is looked at as the one it would be trained with has it.
struct Asked {
  std::string config;
  std::vector<std::string> overrides;
  Experiment experiment;

  // A name for the run of these files, where neither the user nor the config has one.
  std::string run_name() const {
    const bool named = sets(overrides, "run.name") || sets(overrides, "run.dir") || !experiment.run.dir.empty();
    const bool by_config = !experiment.run.name.empty() && experiment.run.name != fs::path(config).stem().string();
    return named || by_config ? "" : run_name_for(experiment.data.path);
  }

  explicit Asked(const ConfigArguments& arguments)
      : config(arguments.file().string()), overrides(arguments.overrides()), experiment(arguments.load()) {
    if (config.empty()) {
      config = default_config(experiment.data.labels.multi);
      if (experiment.data.type == SourceType::kPairs) {
        experiment = load_experiment(config, overrides);
      } else if (experiment.data.classes.empty()) {
        overrides.emplace_back("data.classes=[]");  // those of that config are for pairs
      }
    }
    fetch_if_asked(experiment.data);
    if (!sets(overrides, "data.type")) take_coco();
  }

 private:
  // Where there are COCO annotations and no masks, that is what the folder is.
  void take_coco() {
    const DataConfig& data = experiment.data;
    if (data.type != SourceType::kPairs || data.path.empty() || !find_coco_files(data.path, Split::kTrain)) return;
    try {
      make_dataset(data, Split::kTrain);
    } catch (const Error&) {
      for (const char* key : kCocoKeys) overrides.emplace_back(key);
      experiment = load_experiment(config, overrides);
    }
  }
};

// "a, b, c" of the first samples of a group.
std::string first_ids(const std::vector<SampleFault>& faults) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < std::min(faults.size(), kNamesShown); ++i) ids.push_back(faults[i].id);
  return name_list(ids);
}

void print_group(const FaultGroup& group, const Checked& checked, const DataAdvice& advice, bool all) {
  if (all || group.faults.size() <= kShownSingly) {
    for (const SampleFault& fault : group.faults) fmt::print("  {}: {}\n", printable(fault.id), printable(fault.reason));
    return;
  }
  const std::string what =
      group.about_values && advice.masks.masks > 0
          ? fmt::format("label values found {}, expected 0..{}", list_values(advice.masks), checked.classes.size() - 1)
          : printable(group.faults[0].reason);
  fmt::print("  {}: {} of {} samples; first {}: {}\n", what, group.faults.size(), checked.report.checked,
             std::min(group.faults.size(), kNamesShown), first_ids(group.faults));
}

void print_report(const Checked& checked, const DataAdvice& advice, bool all) {
  const DataReport& report = checked.report;
  fmt::print("{}: {} samples, {} unusable\n", name_of(checked.split), report.checked, report.faults.size());
  for (const FaultGroup& group : group_faults(report.faults)) print_group(group, checked, advice, all);
  for (const std::string& warning : report.warnings) fmt::print("  note: {}\n", printable(warning));
}

// Images that training sees and validation measures on: the scores would be too good.
void print_shared(const std::vector<std::pair<std::string, std::string>>& shared, size_t samples) {
  if (shared.empty()) return;
  fmt::print("note: {} of {} val images are also in train, so val measures what was learned by heart:\n", shared.size(),
             samples);
  for (size_t i = 0; i < std::min(shared.size(), kNamesShown); ++i) {
    fmt::print("  {} of train is {} of val\n", printable(shared[i].first), printable(shared[i].second));
  }
  if (shared.size() > kNamesShown) fmt::print("  and {} more\n", shared.size() - kNamesShown);
}

nlohmann::json to_json(const std::vector<std::pair<std::string, std::string>>& shared) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [train, val] : shared) all.push_back({{"train", train}, {"val", val}});
  return all;
}

std::string normalisation_text(const NormalizeConfig& asked, const NormalizeConfig& decided) {
  if (asked.mode != NormalizeMode::kAuto || decided.mode != NormalizeMode::kRange) return "";
  return fmt::format("; {:g} to {:g} become 0 to 1 (0.5 % and 99.5 % of the values; data.normalize.mode=auto)",
                     fmt::join(decided.low_value, ", "), fmt::join(decided.high_value, ", "));
}

// What the files are, what they are taken for, and which other ways there are to take them.
void print_files(const DataAdvice& advice, const DataConfig& given, const Reading& reading) {
  const MaskLook& masks = advice.masks;
  if (!advice.images.empty())
    fmt::print("images: {}{}\n", printable(describe_images(advice.images)),
               normalisation_text(advice.config.normalize, reading.decided));
  if (masks.masks > 0) {
    const std::string expected = advice.config.classes.size() != given.classes.size() && !given.classes.empty()
                                     ? fmt::format(", where the config has {} classes", given.classes.size())
                                     : "";
    fmt::print("masks: {} {} in {} {}{}{}\n", masks.coloured ? "colours" : "values",
               masks.too_many ? "of more kinds than can be shown" : list_values(masks), masks.masks,
               plural(masks.masks, "mask"), expected, advice.labels.reading.empty() ? "" : ": " + advice.labels.reading);
  }
  for (const std::string& other : advice.labels.others) fmt::print("  {}\n", printable(other));
  for (const std::string& note : reading.notes) fmt::print("note: {}\n", printable(note));
}

std::string verdict(const DataAdvice& advice, const std::vector<Checked>& checked) {
  if (!advice.labels.mistake.empty()) return "not ready to train: " + advice.labels.mistake;
  for (const Checked& one : checked) {
    const auto bad = std::ssize(one.report.faults);
    const auto allowed =
        std::max<int64_t>(1, static_cast<int64_t>(advice.config.max_bad_share * static_cast<double>(one.report.checked)));
    if (bad > (advice.config.max_bad_share > 0 ? allowed : 0))
      return fmt::format(
          "not ready to train: {} of {} {} samples are unusable, more than data.max_bad_share={} allows; repair "
          "or remove them, then train with",
          bad, one.report.checked, name_of(one.split), advice.config.max_bad_share);
  }
  return advice.needed() ? "ready to train, with what the config did not say:" : "ready to train:";
}

}  // namespace

int check_data(const CheckArguments& arguments) {
  const Asked asked(arguments.config);
  const int threads = loader_threads(asked.experiment.data.threads, 1);
  const bool names_given = sets(asked.overrides, "data.classes");
  DataAdvice advice = advise_data(asked.experiment, names_given, threads);
  Reading reading = read_all(advice, arguments.splits, asked.experiment.train.seed, threads);
  if (!advice.labels.needed && has_unknown_values(reading)) {  // that only masks beyond the look have
    advice = advise_data(asked.experiment, names_given, threads, /*all_masks=*/true);
    if (advice.labels.mistake.empty()) reading = read_all(advice, arguments.splits, asked.experiment.train.seed, threads);
  }
  const std::vector<Checked>& checked = reading.checked;

  std::vector<std::string> added = advice.keys;
  if (const std::string name = asked.run_name(); !name.empty()) added.push_back("run.name=" + name);
  const std::string program = program_invocation_name;
  const std::string command =
      train_command(program.find('/') == std::string::npos ? "tessera" : program, asked.config, asked.overrides, added);
  std::optional<std::vector<std::pair<std::string, std::string>>> shared;
  if (checked.size() == 2) shared = shared_images(checked[0].report, checked[1].report);

  if (arguments.json) {
    nlohmann::json all;
    for (const Checked& one : checked) all[std::string(name_of(one.split))] = report_json(one.report, one.classes);
    if (shared) all["shared_images"] = to_json(*shared);
    all["images"] = facts_of(advice.images);
    all["notes"] = reading.notes;
    all["advice"] = {{"needed", advice.needed()},        {"keys", advice.keys},
                     {"reading", advice.labels.reading}, {"others", advice.labels.others},
                     {"mistake", advice.labels.mistake}, {"command", command}};
    fmt::print("{}\n", json_text(all, 2));
  } else {
    for (const Checked& one : checked) print_report(one, advice, arguments.all);
    if (shared) print_shared(*shared, checked[1].report.images.size());
    print_files(advice, asked.experiment.data, reading);
    fmt::print("{}\n", printable(verdict(advice, checked)));
    if (advice.labels.mistake.empty()) fmt::print("  {}\n", command);
  }
  if (advice.needed()) return 2;
  return std::all_of(checked.begin(), checked.end(), [](const Checked& one) { return one.report.faults.empty(); }) ? 0 : 1;
}

}  // namespace tessera
