#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/data_check.h"
#include "apps/data_convert.h"
#include "apps/data_report.h"
#include "apps/data_show.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "data/batch/sampler.h"
#include "data/check/data_look.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/datasets/data_line.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "data/draw/class_overlay.h"
#include "data/draw/overlay.h"
#include "data/transforms/make_pipeline.h"
#include "data/transforms/resample.h"
#include "infer/pictures.h"
#include "report/contact_sheet.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 10;

struct DataArguments {
  ConfigArguments config;
  std::string split = "both", output = "browse.html";
  bool json = false, all = false, nuls = false;
  int64_t count = 12, augmented = 3;
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

void print_stats(const DataReport& report, const ClassTable& classes) {
  const int64_t labelled = report.labelled_pixels;
  fmt::print("  {:<28} {:>14} {:>8} {:>8} {:>8}\n", "class", "pixels", "share", "images", "weight");
  for (size_t c = 0; c < classes.names.size(); ++c) {
    fmt::print("  {:<28} {:>14} {:>7.2f}% {:>8} {:>8.3f}\n", printable(classes.names[c]), report.pixels_per_class[c],
               100.0 * static_cast<double>(report.pixels_per_class[c]) / static_cast<double>(std::max<int64_t>(1, labelled)),
               report.images_per_class[c], report.suggested_class_weights[c]);
  }
  fmt::print("  ignored pixels {}\n  sizes", report.ignored_pixels);
  for (const auto& [size, count] : report.sizes) fmt::print("  {} ({})", size, count);
  fmt::print("\n  data.normalize.mean=[{:.4f}] data.normalize.std=[{:.4f}]\n", fmt::join(report.mean, ","),
             fmt::join(report.std, ","));
}

// 1 when a split has samples and none of them can be used: there is nothing to count then.
int stats(const DataArguments& arguments) {
  const Experiment experiment = arguments.config.load();
  const std::vector<OpenSplit> open = open_splits(arguments, experiment.data);
  announce_data(experiment.data, open);
  nlohmann::json all;
  int code = 0;
  for (const auto& [split, dataset] : open) {
    const ClassTable& classes = dataset->classes();
    const DataReport report = examine(*dataset, experiment.data, split);
    if (report.images.empty() && report.checked > 0) code = 1;
    if (arguments.json) {
      all[std::string(name_of(split))] = report_json(report, classes);
      continue;
    }
    fmt::print("{}: {} usable samples of {}{}\n", name_of(split), report.images.size(), report.checked,
               report.faults.empty() ? "" : fmt::format("; {} unusable, see `tessera data check`", report.faults.size()));
    if (!report.images.empty()) {
      print_stats(report, classes);
      continue;
    }
    for (size_t i = 0; i < std::min(report.faults.size(), kNamesShown); ++i) {
      fmt::print("  {}: {}\n", printable(report.faults[i].id), printable(report.faults[i].reason));
    }
  }
  if (arguments.json) fmt::print("{}\n", json_text(all, 2));
  return code;
}

Image small(const Image& image) {
  constexpr int kSide = 256;
  const int longest = std::max(image.height, image.width);
  if (longest <= kSide) return image;
  return resize_image(image, {std::max(1, image.height * kSide / longest), std::max(1, image.width * kSide / longest)});
}

Image drawn(const Sample& sample, const ClassTable& classes, float alpha) {
  if (!sample.labels) return small(to_display(sample.image));
  return small(draw_classes(to_display(sample.image), *sample.labels, classes, alpha));
}

// As training would decide, so that the pictures show what it sees; with what there is to say about the values.
void decide_normalisation(const Dataset& dataset, Experiment& experiment) {
  const DataLook look =
      look_at_data(dataset, kSamplesLookedAt, experiment.train.seed, loader_threads(experiment.data.threads, 1));
  experiment.data.normalize = decided_normalize(experiment.data, facts_of(look.images));
  if (!look.images.empty()) fmt::print("images: {}\n", printable(describe_images(look.images)));
  for (const std::string& note : range_notes(look.images, experiment.data.normalize)) fmt::print("note: {}\n", printable(note));
}

void browse(const DataArguments& arguments) {
  Experiment experiment = arguments.config.load();
  const std::vector<OpenSplit> open = open_splits(arguments, experiment.data);
  announce_data(experiment.data, open);
  std::vector<SheetRow> rows;
  std::vector<Image> strips;
  for (const auto& [split, dataset] : open) {
    const uint64_t seed = experiment.train.seed;
    if (rows.empty()) decide_normalisation(*dataset, experiment);
    const Pipeline pipeline = make_pipeline(experiment.data, split);
    const Rng pick(seed, Stream::kSelect, static_cast<uint64_t>(split));
    for (const int64_t index : draw_distinct(dataset->size(), arguments.count, pick)) {
      SheetRow row{dataset->id(index), std::string(name_of(split)), {}};
      std::vector<Image> strip;
      const auto add = [&](const std::string& label, const Image& picture) {
        row.pictures.push_back({label, encode_png(picture)});
        strip.push_back(picture);
      };
      try {
        const Sample sample = dataset->get(index);
        add("image", small(to_display(sample.image)));
        if (sample.labels) {
          add("mask", drawn(sample, dataset->classes(), 1.0F));
          add("overlay", drawn(sample, dataset->classes(), 0.45F));
        }
        for (int64_t epoch = 0; epoch < (split == Split::kTrain ? arguments.augmented : 1); ++epoch) {
          Sample changed = sample;
          run_pipeline(pipeline, changed, seed, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
          add(split == Split::kTrain ? fmt::format("as trained, epoch {}", epoch) : "as evaluated",
              drawn(changed, dataset->classes(), 0.45F));
        }
      } catch (const BadSample& e) {
        row.note += ": unusable: " + without_secrets(e.reason());
      }
      rows.push_back(std::move(row));
      if (!strip.empty()) strips.push_back(join_horizontally(strip, 4));
    }
  }
  if (lower(fs::path(arguments.output).extension().string()) == ".png") {
    write_file(arguments.output, encode_png(stack_vertically(strips, 4)));
  } else {
    write_file(arguments.output, render_contact_sheet(experiment.run.name.empty() ? "samples" : experiment.run.name, rows));
  }
  fmt::print("{}\n", arguments.output);
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
    sub->footer(
        "A folder of images and masks needs no settings: what is missing is found by a look at the files and is part of the "
        "command. Exit code 2: the config has to be changed for these files; 1: some samples cannot be used.");
    sub->callback([a = arguments, &exit_code] { exit_code = check_data({a->config, splits_of(*a), a->json, a->all}); });
  }
  {
    auto [sub, arguments] =
        add("stats", "classes, sizes, mean and std, suggested class weights; exit code 1 if no sample is usable");
    sub->add_flag("--json", arguments->json, "print as JSON");
    sub->callback([a = arguments, &exit_code] { exit_code = stats(*a); });
  }
  {
    auto [sub, arguments] = add("browse", "a contact sheet: image, mask, overlay, and the sample after augmentation");
    sub->add_option("-o,--output", arguments->output, "file to write; .png makes a picture, anything else HTML")
        ->capture_default_str();
    sub->add_option("-n,--count", arguments->count, "samples per split")->capture_default_str()->check(CLI::PositiveNumber);
    sub->add_option("--augmented", arguments->augmented, "augmented versions per training sample")
        ->capture_default_str()
        ->check(CLI::NonNegativeNumber);
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
