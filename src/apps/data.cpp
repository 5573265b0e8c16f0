#include "apps/command.h"
#include "apps/data_browse.h"
#include "apps/data_check.h"
#include "apps/data_convert.h"
#include "apps/data_show.h"
#include "apps/data_stats.h"
#include "apps/output_file.h"
#include "core/error.h"
#include "core/printable.h"
#include "data/datasets/data_line.h"
#include "data/datasets/dataset_factory.h"

namespace tessera {
namespace {

struct DataArguments {
  ConfigArguments config;
  std::string split = "both", html, manifest;
  bool json = false, all = false, nuls = false;
  BrowseArguments browse;
};

std::vector<Split> splits_of(const DataArguments& arguments) {
  if (arguments.split == "train") return {Split::kTrain};
  if (arguments.split == "val") return {Split::kVal};
  if (arguments.split == "test") return {Split::kTest};
  return {Split::kTrain, Split::kVal};
}

std::vector<OpenSplit> open_splits(const DataArguments& arguments, const DataConfig& config) {
  std::vector<OpenSplit> open;
  for (const Split split : splits_of(arguments)) open.push_back({split, make_dataset(config, split)});
  TSR_CHECK(
      arguments.split != "test" || open[0].data->size() > 0,
      "there is no test split: no folder is called test, and data.test names none; set data.test.images and data.test.masks, "
      "or data.test.list");
  return open;
}

int stats(const DataArguments& arguments) {
  const Experiment experiment = arguments.config.load();
  if (!arguments.html.empty()) check_output_file(arguments.html);
  const std::vector<OpenSplit> open = open_splits(arguments, experiment.data);
  announce_data(experiment.data, open);
  return data_stats({arguments.json, arguments.html}, experiment.data, open);
}

void browse(const DataArguments& arguments) {
  const Experiment experiment = arguments.config.load();
  const std::vector<OpenSplit> open = open_splits(arguments, experiment.data);
  announce_data(experiment.data, open);
  data_browse(arguments.browse, experiment, open);
}

void list(const DataArguments& arguments) {
  const Experiment experiment = arguments.config.load();
  const std::vector<OpenSplit> open = open_splits(arguments, experiment.data);
  warn_of_left_out(open);
  for (const auto& [split, dataset] : open) {
    for (int64_t i = 0; i < dataset->size(); ++i) {
      const std::string id = dataset->id(i);
      if (arguments.nuls) {
        fmt::print("{}\t{}{}", name_of(split), id, '\0');
      } else {
        fmt::print("{}\t{}\n", name_of(split), printable(id));
      }
    }
  }
}

}  // namespace

void add_data(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("data", "look at a data set before training on it");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    auto arguments = std::make_shared<DataArguments>();
    CLI::App* sub = command->add_subcommand(name, help);
    arguments->config.add_to(*sub);
    sub->add_option("--split", arguments->split, "train, val, test, or both: train and val")
        ->check(CLI::IsMember({"train", "val", "test", "both"}))
        ->capture_default_str();
    return std::pair(sub, arguments);
  };
  {
    auto [sub, arguments] = add("check", "read every sample, list what cannot be used, and print the command to train with");
    sub->add_flag("--json", arguments->json, "print as JSON");
    sub->add_flag("--all", arguments->all, "list every unusable sample, also where many have the same fault");
    sub->add_option("--html", arguments->html, "write a page with pictures of what is wrong");
    sub->add_option("--manifest", arguments->manifest,
                    "write the list of the samples to train on, as data.<split>.list takes it; for several splits one each, "
                    "NAME.train.txt of NAME.txt");
    sub->footer(
        "A folder of images and masks needs no settings: what is missing is found by a look at the files and is part of the "
        "command. Exit code 2: the config has to be changed for these files; 1: some samples cannot be used; 0: neither, "
        "though there may be warnings. The kinds of faults are listed in docs/data_check.md.");
    sub->callback([a = arguments, &exit_code] {
      exit_code = check_data({a->config, splits_of(*a), a->json, a->all, a->html, a->manifest});
    });
  }
  {
    auto [sub, arguments] =
        add("stats", "classes, sizes, mean and std, suggested class weights; exit code 1 if no sample is usable");
    sub->add_flag("--json", arguments->json, "print as JSON");
    sub->add_option("--html", arguments->html, "write a page with plots");
    sub->callback([a = arguments, &exit_code] { exit_code = stats(*a); });
  }
  {
    auto [sub, arguments] = add("browse", "a page to flip through: image, mask, overlay, and the sample after augmentation");
    sub->add_option("-o,--output", arguments->browse.output, "file to write; .png makes a picture, anything else HTML")
        ->capture_default_str();
    sub->add_option("-n,--count", arguments->browse.count, "samples per split")->capture_default_str()->check(above_zero());
    sub->add_option("--augmented", arguments->browse.augmented, "augmented versions per training sample")
        ->capture_default_str()
        ->check(zero_or_more());
    sub->add_option("--class", arguments->browse.classes, "only samples that show this class; may be given several times");
    sub->callback([a = arguments] { browse(*a); });
  }
  {
    auto [sub, arguments] =
        add("list", "the samples of each split, one per line; what a terminal would take for a command is escaped");
    sub->add_flag("-0,--null", arguments->nuls, "end each by a NUL instead, the names as they are");
    sub->callback([a = arguments] { list(*a); });
  }
  add_data_fetch(*command);
  add_data_convert(*command);
  add_data_show(*command);
}

}  // namespace tessera
