#include "apps/data_browse.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/output_file.h"
#include "core/class_bits.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/name_list.h"
#include "core/parallel_map.h"
#include "core/printable.h"
#include "core/rng.h"
#include "core/secrets.h"
#include "core/suggest.h"
#include "data/batch/sampler.h"
#include "data/check/data_look.h"
#include "data/check/range_notes.h"
#include "data/check/sample_choice.h"
#include "data/decode/png_writer.h"
#include "data/draw/class_overlay.h"
#include "data/draw/overlay.h"
#include "data/transforms/make_pipeline.h"
#include "data/transforms/resample.h"
#include "infer/pictures.h"
#include "report/contact_sheet.h"

namespace tessera {
namespace {

// The rows of a page, and for a picture the same without words.
struct Drawn {
  SheetRow row;
  Image strip;
  bool wanted = false;  // it shows one of the classes that were asked for
};

Image in_small(const Image& image) {
  constexpr int kSide = 256;
  const int longest = std::max(image.height, image.width);
  if (longest <= kSide) return image;
  return resize_image(image, {std::max(1, image.height * kSide / longest), std::max(1, image.width * kSide / longest)});
}

Image with_classes(const Sample& sample, const ClassTable& classes, float alpha) {
  if (!sample.labels) return in_small(to_display(sample.image));
  return in_small(draw_classes(to_display(sample.image), *sample.labels, classes, alpha));
}

// As training would decide, so that the pictures show what it sees; with what there is to say about the values.
void decide_normalisation(const Dataset& dataset, Experiment& experiment) {
  const DataLook look =
      look_at_data(dataset, kSamplesLookedAt, experiment.train.seed, loader_threads(experiment.data.threads, 1));
  experiment.data.normalize = decided_normalize(experiment.data, facts_of(look.images));
  if (!look.images.empty()) fmt::print("images: {}\n", printable(describe_images(look.images)));
  for (const std::string& note : range_notes(look.images, experiment.data.normalize)) fmt::print("note: {}\n", printable(note));
}

// The names of the classes that a mask shows.
std::vector<std::string> classes_in(const LabelMap& labels, const ClassTable& classes) {
  std::vector<bool> seen(static_cast<size_t>(classes.size()));
  for (const int16_t label : labels.labels) {
    if (label < 0) continue;
    if (!classes.multi_label) seen[static_cast<size_t>(label)] = true;
    for (int k = 0; classes.multi_label && k < classes.size(); ++k) {
      if (has_class(label, k)) seen[static_cast<size_t>(k)] = true;
    }
  }
  std::vector<std::string> names;
  for (size_t k = 0; k < seen.size(); ++k) {
    if (seen[k]) names.push_back(classes.names[k]);
  }
  return names;
}

bool shares_one(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& one) { return std::find(b.begin(), b.end(), one) != b.end(); });
}

class Browser {
 public:
  Browser(const BrowseArguments& arguments, const Experiment& experiment, const OpenSplit& open)
      : arguments_(arguments),
        seed_(experiment.train.seed),
        open_(open),
        pipeline_(make_pipeline(experiment.data, open.split)) {}

  Drawn draw(int64_t index) const {
    const Dataset& dataset = *open_.data;
    Drawn drawn{{dataset.id(index), std::string(name_of(open_.split)), {}}, {}, arguments_.classes.empty()};
    std::vector<Image> strip;
    const auto add = [&](const std::string& label, const Image& picture) {
      drawn.row.pictures.push_back({label, encode_png(picture)});
      strip.push_back(picture);
    };
    try {
      const Sample sample = dataset.get(index);
      if (sample.labels) drawn.row.classes = classes_in(*sample.labels, dataset.classes());
      drawn.wanted = drawn.wanted || shares_one(drawn.row.classes, arguments_.classes);
      if (!drawn.wanted) return drawn;
      add("image", in_small(to_display(sample.image)));
      if (sample.labels) {
        add("mask", with_classes(sample, dataset.classes(), 1.0F));
        add("overlay", with_classes(sample, dataset.classes(), 0.45F));
      }
      const bool training = open_.split == Split::kTrain;
      for (int64_t epoch = 0; epoch < (training ? arguments_.augmented : 1); ++epoch) {
        Sample changed = sample;
        run_pipeline(pipeline_, changed, seed_, static_cast<uint64_t>(epoch), static_cast<uint64_t>(index));
        add(training ? fmt::format("as trained, epoch {}", epoch) : "as evaluated",
            with_classes(changed, dataset.classes(), 0.45F));
      }
    } catch (const BadSample& e) {
      drawn.row.note += ": unusable: " + without_secrets(e.reason());
    }
    if (!strip.empty()) drawn.strip = join_horizontally(strip, 4);
    return drawn;
  }

 private:
  const BrowseArguments& arguments_;
  uint64_t seed_;
  const OpenSplit& open_;
  Pipeline pipeline_;
};

void check_classes_asked(const std::vector<std::string>& asked, const ClassTable& classes) {
  for (const std::string& name : asked) {
    if (std::find(classes.names.begin(), classes.names.end(), name) == classes.names.end())
      fail_usage("--class: there is no class '{}'{}; there are {}", printable(name), did_you_mean(name, classes.names),
                 name_list(classes.names));
  }
}

}  // namespace

void data_browse(const BrowseArguments& arguments, Experiment experiment, const std::vector<OpenSplit>& open) {
  check_output_file(arguments.output);
  std::vector<SheetRow> rows;
  std::vector<Image> strips;
  for (const OpenSplit& split : open) {
    const Dataset& dataset = *split.data;
    check_classes_asked(arguments.classes, dataset.classes());
    if (rows.empty()) decide_normalisation(dataset, experiment);
    const Rng pick(experiment.train.seed, Stream::kSelect, static_cast<uint64_t>(split.split));
    // In a drawn order; where only some classes are asked for, as far as it takes.
    const std::vector<int64_t> order =
        draw_distinct(dataset.size(), arguments.classes.empty() ? arguments.count : dataset.size(), pick);
    const Browser browser(arguments, experiment, split);
    const int threads = loader_threads(experiment.data.threads, 1);
    ParallelMap<Drawn> drawn(std::ssize(order), threads, 2 * threads,
                             [&](int64_t i) { return browser.draw(order[static_cast<size_t>(i)]); });
    int64_t shown = 0;
    for (auto one = drawn.next(); one && shown < arguments.count; one = drawn.next()) {
      if (!one->wanted) continue;
      ++shown;
      rows.push_back(std::move(one->row));
      if (one->strip.height > 0) strips.push_back(std::move(one->strip));
    }
  }
  if (lower(fs::path(arguments.output).extension().string()) == ".png") {
    write_file(arguments.output, encode_png(stack_vertically(strips, 4)));
  } else {
    write_file(arguments.output, render_contact_sheet(experiment.run.name.empty() ? "samples" : experiment.run.name, rows));
  }
  fmt::print("{}\n", arguments.output);
}

}  // namespace tessera
