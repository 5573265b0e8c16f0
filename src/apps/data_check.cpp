#include "apps/data_check.h"

#include <errno.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/data_asked.h"
#include "apps/data_check_page.h"
#include "apps/data_findings.h"
#include "apps/data_report.h"
#include "apps/data_verdict.h"
#include "apps/output_file.h"
#include "apps/train_command.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/name_list.h"
#include "core/plural.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "data/check/config_snippet.h"
#include "data/check/data_look.h"
#include "data/check/fault_groups.h"
#include "data/check/manifest.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/check/shared_images.h"
#include "data/datasets/class_table.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 10, kShownSingly = 3;

// All samples, read as the advice says.
struct Reading {
  std::vector<Survey> surveys;
  NormalizeConfig decided;  // of the first split
  std::vector<std::string> notes;
};

Reading read_all(const DataAdvice& advice, const std::vector<Split>& splits, uint64_t seed, int threads) {
  Reading reading{.surveys = {}, .decided = advice.config.normalize, .notes = {}};
  // Labels that no setting can make sense of, and no class to read them by: nothing more can be said.
  if (!advice.labels.mistake.empty() && advice.config.classes.empty() && !advice.config.labels.binary) return reading;
  std::vector<OpenSplit> open;
  for (const Split split : splits) {
    open.push_back({split, make_dataset(advice.config, split)});
    const Dataset &first = *open.front().data, &last = *open.back().data;
    if (first.size() > 0 && last.size() > 0) check_same_classes(first.classes().names, last.classes().names, name_of(split));
  }
  announce_data(advice.config, open);
  for (const OpenSplit& split : open) {
    if (reading.surveys.empty()) {
      const DataLook look = look_at_data(*split.data, kSamplesLookedAt, seed, threads);
      reading.decided = decided_normalize(advice.config, facts_of(look.images));
      if (const std::string note = contrast_note(look.images, reading.decided); !note.empty()) reading.notes.push_back(note);
    }
    reading.surveys.push_back(examine(split, advice.config));
  }
  return reading;
}

bool has_unknown_values(const Reading& reading) {
  return std::any_of(reading.surveys.begin(), reading.surveys.end(), [](const Survey& one) {
    const auto groups = group_faults(report_of(one).faults);
    return std::any_of(groups.begin(), groups.end(), [](const FaultGroup& group) { return group.about_values; });
  });
}

// "a, b, c" of the first samples of a group.
std::string first_ids(const std::vector<SampleFault>& faults) {
  std::vector<std::string> ids;
  for (size_t i = 0; i < std::min(faults.size(), kNamesShown); ++i) ids.push_back(faults[i].id);
  return name_list(ids);
}

void print_group(const FaultGroup& group, const CheckedSplit& checked, const std::map<std::string, FoundFault>& found,
                 const DataAdvice& advice, bool all) {
  if (all || group.faults.size() <= kShownSingly) {
    for (const SampleFault& fault : group.faults) {
      const FoundFault& more = found.at(fault.id);
      fmt::print("  {}: {} [{}]\n", printable(fault.id), printable(more.detail), more.kind);
    }
    return;
  }
  const std::string what = group.about_values && advice.masks.masks > 0
                               ? fmt::format("label values found {}, expected 0..{}", list_values(advice.masks),
                                             checked.survey->data->classes().size() - 1)
                               : printable(group.faults[0].reason);
  fmt::print("  {}: {} of {} samples; first {}: {} [{}]\n", what, group.faults.size(), checked.report.checked,
             std::min(group.faults.size(), kNamesShown), first_ids(group.faults), found.at(group.faults[0].id).kind);
}

void print_report(const CheckedSplit& checked, const std::vector<Finding>& findings, const DataAdvice& advice, bool all) {
  const DataReport& report = checked.report;
  fmt::print("{}: {} samples, {} unusable\n", name_of(checked.survey->split), report.checked, report.faults.size());
  const std::map<std::string, FoundFault> found = found_faults(*checked.survey, findings);
  for (const FaultGroup& group : group_faults(report.faults)) print_group(group, checked, found, advice, all);
  print_findings(*checked.survey, findings, all);
}

using NamePairs = std::vector<std::pair<std::string, std::string>>;

// Images that training sees and validation measures on: the scores would be too good.
void print_shared(const NamePairs& shared, int64_t samples) {
  if (shared.empty()) return;
  fmt::print("note: {} of {} val images are also in train, so val measures what was learned by heart [split_leak]:\n",
             shared.size(), samples);
  for (size_t i = 0; i < std::min(shared.size(), kNamesShown); ++i) {
    fmt::print("  {} of train is {} of val\n", printable(shared[i].first), printable(shared[i].second));
  }
  if (shared.size() > kNamesShown) fmt::print("  and {} more\n", shared.size() - kNamesShown);
}

nlohmann::json to_json(const NamePairs& shared) {
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

// What the masks say against settings that are the user's own, and what would be right.
std::vector<Finding> advice_findings(const DataAdvice& advice, const DataConfig& given, bool own) {
  const auto about = [&](FindingKind kind, std::string text) {
    return Finding{
        .kind = kind, .split = Split::kTrain, .samples = {}, .text = std::move(text), .keys = label_keys(advice.labels, given)};
  };
  const LabelAdvice& labels = advice.labels;
  std::vector<Finding> findings;
  if (!own || !labels.needed || !labels.mistake.empty()) return findings;
  const std::string held = fmt::format("the masks hold {} {}: {}", advice.masks.coloured ? "colours" : "values",
                                       list_values(advice.masks), labels.reading);
  if (labels.labels.offset != given.labels.offset) {
    findings.push_back(about(FindingKind::kWrongOffset, held));
  } else if (labels.labels.binary && !given.labels.binary) {
    findings.push_back(about(FindingKind::kBinaryMask, held));
  } else if (labels.labels.colors != given.labels.colors) {
    findings.push_back(about(FindingKind::kColouredMask, held));
  } else if (labels.classes.size() != given.classes.size()) {
    findings.push_back(
        about(FindingKind::kClassCount, fmt::format("data.classes names {} classes, {}", given.classes.size(), held)));
  }
  return findings;
}

// good.txt, or for several splits good.train.txt and good.val.txt.
std::string manifest_name(const std::string& name, Split split, bool only) {
  if (only) return name;
  fs::path file(name);
  const std::string extension = file.extension().string();
  return file.replace_extension(fmt::format(".{}{}", name_of(split), extension)).string();
}

// Returns the keys with which training uses them.
std::vector<std::string> write_manifests(const std::string& name, const DataConfig& config,
                                         const std::vector<CheckedSplit>& checked, const std::vector<Finding>& findings) {
  std::vector<std::string> keys;
  for (const CheckedSplit& one : checked) {
    const std::string file = manifest_name(name, one.survey->split, checked.size() == 1);
    write_file(file, manifest_text(*one.survey, findings));
    const std::vector<std::string> own = manifest_keys(config, one.survey->split, file);
    if (own.empty())
      log_warn("{}: no key makes training use it: this source takes no list, or its folders have names that keys cannot give",
               file);
    keys.insert(keys.end(), own.begin(), own.end());
  }
  return keys;
}

int check_opened(const CheckArguments& arguments, const AskedData& asked) {
  const int threads = loader_threads(asked.experiment.data.threads, 1);
  DataAdvice advice = advise_data(asked.experiment, asked.names_given, threads, /*all_masks=*/false, arguments.splits.front());
  Reading reading = read_all(advice, arguments.splits, asked.experiment.train.seed, threads);
  if (!advice.labels.needed && has_unknown_values(reading)) {  // that only masks beyond the look have
    advice = advise_data(asked.experiment, asked.names_given, threads, /*all_masks=*/true, arguments.splits.front());
    if (advice.labels.needed && advice.labels.mistake.empty())
      reading = read_all(advice, arguments.splits, asked.experiment.train.seed, threads);
  }
  const std::vector<Survey>& surveys = reading.surveys;
  std::vector<CheckedSplit> checked;
  for (const Survey& survey : surveys) checked.push_back({&survey, shown_report(survey)});
  const CheckInput input{surveys, advice.config};
  std::vector<Finding> findings = advice_findings(advice, asked.experiment.data, asked.names_given || asked.own_config);
  for (Finding& finding : find_faults(input)) findings.push_back(std::move(finding));
  findings = findings_without_secrets(std::move(findings));

  std::vector<std::string> added = advice.keys;
  if (const std::string name = asked.run_name(); !name.empty()) added.push_back("run.name=" + name);
  if (!arguments.manifest.empty()) {
    for (std::string& key : write_manifests(arguments.manifest, advice.config, checked, findings))
      added.push_back(std::move(key));
  }
  const std::string program = program_invocation_name;
  const std::string command =
      train_command(program.find('/') == std::string::npos ? "tessera" : program, asked.config, asked.overrides, added);
  std::optional<NamePairs> shared;
  if (surveys.size() == 2) shared = shared_images(surveys[0], surveys[1]);
  const DataVerdict verdict = verdict_of(advice, checked);

  if (!arguments.html.empty()) {
    CheckPage page{.title = "Data check of " + without_secrets(asked.experiment.data.path.empty()
                                                                   ? name_of(asked.experiment.data.type).data()
                                                                   : asked.experiment.data.path),
                   .state = verdict.state,
                   .verdict = verdict.text.ends_with(':') ? verdict.text.substr(0, verdict.text.size() - 1) : verdict.text,
                   .command = advice.labels.mistake.empty() ? without_secrets(command) : "",
                   .config = without_secrets(config_snippet(added)),
                   .facts = page_facts(surveys),
                   .findings = page_findings(input, findings)};
    write_file(arguments.html, render_check_page(page));
  }
  if (arguments.json) {
    nlohmann::json all;
    for (const CheckedSplit& one : checked)
      all[std::string(name_of(one.survey->split))] = report_json(one.report, one.survey->data->classes());
    if (shared) all["shared_images"] = to_json(*shared);
    all["images"] = facts_of(advice.images);
    all["notes"] = reading.notes;
    all["findings"] = findings_json(surveys, findings);
    all["verdict"] = {{"state", verdict.state}, {"text", verdict.text}};
    all["advice"] = {{"needed", advice.needed()},        {"keys", advice.keys},
                     {"reading", advice.labels.reading}, {"others", advice.labels.others},
                     {"mistake", advice.labels.mistake}, {"command", command},
                     {"config", config_snippet(added)}};
    fmt::print("{}\n", json_text(all, 2));
  } else {
    for (const CheckedSplit& one : checked) print_report(one, findings, advice, arguments.all);
    if (shared) print_shared(*shared, checked[1].report.usable());
    print_files(advice, asked.experiment.data, reading);
    if (!arguments.html.empty()) fmt::print("pictures: {}\n", printable(arguments.html));
    fmt::print("{}\n", printable(verdict.text));
    if (advice.labels.mistake.empty()) fmt::print("  {}\n", command);
  }
  if (advice.needed()) return 2;
  return std::all_of(checked.begin(), checked.end(), [](const CheckedSplit& one) { return one.report.faults.empty(); }) ? 0 : 1;
}

}  // namespace

int check_data(const CheckArguments& arguments) {
  for (const std::string& file : {arguments.html, arguments.manifest}) {
    if (!file.empty()) check_output_file(file);
  }
  const AskedData asked(arguments.config);
  try {
    return check_opened(arguments, asked);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    if (!arguments.json) throw;
    const std::vector<Finding> findings = findings_without_secrets({opening_fault(error.what())});
    const nlohmann::json all{{"findings", findings_json({}, findings)},
                             {"verdict", {{"state", "mend"}, {"text", "not ready to train: " + findings[0].text}}}};
    fmt::print("{}\n", json_text(all, 2));
    return 1;
  }
}

}  // namespace tessera
