#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/command.h"
#include "apps/image_jobs.h"
#include "apps/image_results.h"
#include "apps/loaded_images.h"
#include "apps/model_arguments.h"
#include "apps/ranks.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/plural.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "core/rank_status.h"
#include "data/datasets/class_table.h"
#include "data/datasets/pairs.h"
#include "infer/other_images.h"
#include "infer/shared_images.h"
#include "storage/place_url.h"
#include "storage/sent_folder.h"

namespace tessera {
namespace {

struct PredictArguments {
  ModelArguments model;
  std::vector<std::string> inputs;  // images; the words among them that set values go to `model`
  ResultFiles results;
  std::string place = {};  // of the results, as messages name it
  RankArguments ranks;
};

// The jobs of this rank. The first one looks for the images (it has the terminal, where a list may come from), and each
// takes every size-th of them: every image once. A mistake ends all ranks with one message.
std::vector<ImageJob> own_jobs(World& world, const PredictArguments& arguments) {
  nlohmann::json plan{{"jobs", nlohmann::json::array()}, {"mistake", ""}};
  if (world.is_first()) {
    try {
      const auto all = collect_image_jobs(arguments.inputs, arguments.results.suffixes());
      check_images_are_kept(all, arguments.results.folder, arguments.results.suffixes());
      for (const ImageJob& job : all) plan["jobs"].push_back({job.image.string(), job.name.string()});
    } catch (const UsageError& e) {
      plan["mistake"] = e.what();
    }
  }
  // Not as JSON text, which must be UTF-8: a file's name may be any bytes.
  const std::vector<uint8_t> bytes = nlohmann::json::to_msgpack(plan);
  plan = nlohmann::json::from_msgpack(world.control.gather_text({bytes.begin(), bytes.end()}).front());
  if (const auto mistake = plan["mistake"].get<std::string>(); !mistake.empty()) fail_usage("{}", mistake);
  const nlohmann::json& shared = plan["jobs"];
  std::vector<ImageJob> own;
  for (size_t i = static_cast<size_t>(world.rank()); i < shared.size(); i += static_cast<size_t>(world.size())) {
    own.push_back({shared[i].at(0).get<std::string>(), shared[i].at(1).get<std::string>()});
  }
  return own;
}

// Predictions have the names of images, as masks do: among them they would take their place.
void check_masks_are_kept(const DataConfig& data, const fs::path& output) {
  std::error_code error;
  const fs::path place = fs::weakly_canonical(output, error);
  for (const fs::path& masks : mask_folders(data)) {
    const fs::path folder = fs::canonical(masks, error);
    if (!error && std::mismatch(folder.begin(), folder.end(), place.begin(), place.end()).first == folder.end())
      fail_usage("{} holds masks of the data set that this model was trained on; choose another folder with --output",
                 masks.string());
  }
}

// What can be wrong with the place of the results, before the first image.
void check_output(const PredictArguments& arguments, const TrainedModel& trained, const World& world) {
  constexpr int kPaletteColours = 256;
  if (arguments.results.palette && trained.classes.size() > kPaletteColours)
    fail_usage("--palette: a palette PNG has room for {} classes, the model has {}; leave it out: masks are then 16-bit PNG",
               kPaletteColours, trained.classes.size());
  check_masks_are_kept(trained.experiment.data, arguments.results.folder);
  if (world.spec.local_rank != 0) return;  // once on each host
  remove_leftovers(arguments.results.folder);
  const std::string why = why_not_writable(arguments.results.folder);
  TSR_CHECK(why.empty(), "the output folder {} cannot be written: {}", arguments.results.folder, why);
}

// A rank's images on their way to files.
class Prediction {
 public:
  // total: the images of all ranks.
  Prediction(const PredictArguments& arguments, const std::vector<ImageJob>& jobs, const TrainedModel& trained, World& world,
             int64_t total)
      : arguments_(arguments),
        jobs_(jobs),
        world_(world),
        predictor_(trained.predictor()),
        writer_(arguments.results, trained.classes,
                background_class(trained.classes.names, trained.experiment.data.labels.binary)),
        watch_(trained.images),
        loads_(jobs, trained, world, arguments.results.draws(), watch_),
        shared_(world.control, total) {
    if (world.is_first()) bar_.emplace("predict", std::ssize(jobs));
    predictor_.watch_windows([this](int64_t done, int64_t all) {
      if (bar_) bar_->update(at_, fmt::format("window {}/{} of {}", done, all, printable(job(at_).name.string())));
    });
  }

  // Returns how many of this rank's images could not be read or do not fit into memory. A collective.
  int64_t run() {
    for (at_ = 0; at_ < std::ssize(jobs_); ++at_) take_next();
    at_ = std::ssize(jobs_) - 1;
    take_shared();
    writer_.finish(world_.control);
    return failed_;
  }

 private:
  const ImageJob& job(int64_t number) const { return jobs_[static_cast<size_t>(number)]; }

  std::optional<ImageResults> find(const ImageGroup& image, const WindowTeam& team, const std::string& name) const {
    try {
      return find_results(predictor_, image, arguments_.results.probabilities, team);
    } catch (const TooLarge& e) {
      log_error("{}: {}", printable(name), e.what());
      return std::nullopt;
    }
  }

  void keep(const ImageJob& job, const StoredImage* original, const std::optional<ImageResults>& results) {
    if (results) {
      writer_.write(job, original, *results);
    } else {
      ++failed_;
    }
  }

  void take_next() {
    note_sample(at_);
    const ImageJob& own = job(at_);
    LoadedImage loaded = loads_.next();
    if (const std::string odd = watch_.look(own.image.string(), loaded.facts); !odd.empty()) log_warn("{}", odd);
    if (!loaded.error.empty()) {
      ++failed_;
      log_error("{}: {}", printable(own.image.string()), printable(loaded.error));
    } else if (shared_.wants(job_number(world_, at_), predictor_, loaded.image.height(), loaded.image.width())) {
      log_info("{}: its windows are shared by {} ranks", printable(own.image.string()), world_.size());
      shared_.add(loaded.image);
      shared_own_ = std::move(loaded);
    } else {
      const std::optional<ImageResults> results = find(loaded.image, {}, own.name.string());
      loaded.image = {};  // only its picture may still be wanted
      keep(own, loaded.original.get(), results);
    }
    loaded = {};
    loads_.release();
    if (bar_ && !shared_own_) bar_->update(at_ + 1);
  }

  // The images that all ranks compute together: at most one of each, its last.
  void take_shared() {
    while (const std::optional<SharedImages::Turn> turn = shared_.next()) {
      if (!turn->has_part()) continue;
      const std::optional<ImageResults> results =
          find(turn->images, turn->team, jobs_.empty() ? "" : jobs_.back().name.string());
      if (!turn->team.leads()) continue;
      keep(jobs_.back(), shared_own_->original.get(), results);
      if (bar_) bar_->update(std::ssize(jobs_));
    }
  }

  const PredictArguments& arguments_;
  const std::vector<ImageJob>& jobs_;
  World& world_;
  Predictor predictor_;
  ResultWriter writer_;
  ImageWatch watch_;
  LoadedImages loads_;
  SharedImages shared_;
  std::optional<LoadedImage> shared_own_;  // of this rank
  std::optional<ProgressBar> bar_;
  int64_t at_ = 0, failed_ = 0;  // the image that is predicted; those that could not be
};

// Returns how many images of all ranks could not be read or do not fit into memory.
int64_t predict(const PredictArguments& arguments, World& world, const std::string& device) {
  const std::vector<ImageJob> jobs = own_jobs(world, arguments);
  const TrainedModel trained = arguments.model.load(device);
  check_output(arguments, trained, world);
  const auto sum = [&](int64_t own) {
    at::Tensor all = at::scalar_tensor(own, at::kLong);
    world.control.sum(all);
    return all.item<int64_t>();
  };
  const int64_t total = sum(std::ssize(jobs));
  if (world.is_first()) log_info("{}: {} {} to {}", trained.title(), total, plural(total, "image"), arguments.place);
  const int64_t failed = sum(Prediction(arguments, jobs, trained, world, total).run());
  if (!world.is_first()) return failed;
  fmt::print("{} {} in {}\n", total - failed, plural(total - failed, "prediction"), printable(arguments.place));
  if (failed > 0) log_error("{} of {} {} could not be read or predicted", failed, total, plural(total, "image"));
  return failed;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "segment images with a trained model");
  arguments->model.add_to(*command);
  command
      ->add_option("inputs", arguments->inputs,
                   "images, folders, patterns in quotes, or - for a list on stdin (lines, or find -print0); and values to set: "
                   "eval.flip=true")
      ->option_text("IMAGES ... [key=value ...]")
      ->required();
  command
      ->add_option(
          "-o,--output", arguments->results.folder,
          "folder for the results, here or in a bucket (s3://BUCKET/FOLDER, gs://...); input images in it are never replaced")
      ->capture_default_str();
  command->add_flag("--palette", arguments->results.palette,
                    "masks as palette PNG in the classes' colours (the values are still class numbers)");
  command->add_flag("--overlay", arguments->results.overlay,
                    "also the image with the classes drawn over it and a legend: NAME_overlay.png");
  command->add_flag("--outlines", arguments->results.outlines,
                    "also the image with the outlines of the classes alone: NAME_outlines.png");
  command->add_flag("--json", arguments->results.json, "also the area and the number of objects of each class: NAME.json");
  command
      ->add_option(
          "--polygons", arguments->results.polygons,
          "also the outlines of all objects: geojson (NAME.geojson each) or coco (annotations_coco.json, for all images)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, PolygonFormat>{{"geojson", PolygonFormat::kGeoJson}, {"coco", PolygonFormat::kCoco}}))
      ->option_text("geojson|coco");
  command
      ->add_option("--simplify", arguments->results.simplify,
                   "corners of polygons that lie within so many pixels of a straight line are left out; 0: exact")
      ->check(zero_or_more())
      ->option_text("PIXELS");
  command->add_flag("--probabilities", arguments->results.probabilities,
                    "also class probabilities: NAME_probabilities.npy, float32 (classes, height, width)");
  command
      ->add_option("--set", arguments->model.overrides,
                   "change a value of the config, may be given again: --set eval.flip=true; the same as the bare word")
      ->allow_extra_args(false)
      ->option_text("key=value");
  command->footer(
      "Masks are PNG files with the class number of each pixel, at the size of the image; where classes overlap "
      "(data.labels.multi) each has its own, NAME_CLASS.png, 255 where it is. They are named after the image; "
      "where two results would get one name the extension stays in it (a_jpg.png, a_png.png), then a number is added. "
      "Preprocessing comes from the checkpoint. Images of more than 2048 x 2048 pixels (and 16 training crops) are predicted "
      "in windows of the training crop's size, in memory that does not grow with them; eval.window.size=512 chooses another, 0 "
      "none. With several ranks (-p) each takes whole images; where fewer than ranks are left, all of them share the windows "
      "of each. The files are the same.\n"
      "Weights that Tessera has not trained: tessera predict -c CONFIG model.pretrained=FILE IMAGES. A word such as "
      "eval.flip=true sets a value unless there is a file of that name.");
  arguments->ranks.add_to(*command);
  command->callback([arguments, &exit_code] {
    const auto values = std::stable_partition(arguments->inputs.begin(), arguments->inputs.end(),
                                              [](const std::string& word) { return !sets_value(word); });
    arguments->model.overrides.insert(arguments->model.overrides.end(), values, arguments->inputs.end());
    arguments->inputs.erase(values, arguments->inputs.end());
    const Experiment experiment = arguments->model.experiment();
    if (experiment.data.labels.multi) {
      arguments->results.overlapping = experiment.data.classes;
      TSR_CHECK_USAGE(
          !arguments->results.outlines && !arguments->results.json && arguments->results.polygons == PolygonFormat::kNone,
          "--outlines, --json and --polygons are for classes that do not overlap; this model was trained with "
          "data.labels.multi: take its masks, --overlay or --probabilities");
      TSR_CHECK_USAGE(!arguments->results.palette,
                      "--palette draws one class at each pixel; the classes of this model overlap and have a mask each: use "
                      "--overlay");
    }
    std::optional<SentFolder> sent;
    arguments->place = arguments->results.folder;
    if (is_url(arguments->place)) {
      sent.emplace(arguments->place, "--output");
      arguments->place = sent->root();
      arguments->results.folder = sent->folder().string();
    }
    run_on_ranks(arguments->ranks, experiment, identity_of(experiment), [&](World& world, const std::string& device) {
      if (predict(*arguments, world, device) > 0 && world.is_first()) exit_code = 1;
    });
    if (sent) sent->send();
  });
}

}  // namespace tessera
