#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/command.h"
#include "apps/file_facts.h"
#include "apps/image_jobs.h"
#include "apps/image_results.h"
#include "apps/model_arguments.h"
#include "apps/ranks.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/load_budget.h"
#include "core/log.h"
#include "core/memory_limit.h"
#include "core/new_file.h"
#include "core/parallel_map.h"
#include "core/plural.h"
#include "core/printable.h"
#include "core/progress_bar.h"
#include "core/rank_status.h"
#include "data/batch/stored_pixels.h"
#include "data/datasets/class_table.h"
#include "data/datasets/load_sample.h"
#include "data/datasets/pairs.h"
#include "data/decode/decode.h"
#include "data/sample.h"
#include "data/transforms/make_pipeline.h"
#include "infer/other_images.h"
#include "storage/place_url.h"
#include "storage/sent_folder.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

// Images that are read ahead take no more memory than this together; before one is read its size is guessed by its file's.
constexpr int64_t kBytesAhead = int64_t{1} << 30;
constexpr int64_t kBytesOfFileByte = 8;

struct PredictArguments {
  ModelArguments model;
  std::vector<std::string> inputs;  // images; the words among them that set values go to `model`
  ResultFiles results;
  std::string place = {};  // of the results, as messages name it
  RankArguments ranks;
};

struct Loaded {
  std::shared_ptr<const StoredImage> original = {};  // where pictures are drawn on it
  ImageGroup image = {};
  std::string error = {};
  ImageFacts facts = {};  // of the first images
  bool again = false;     // there was no memory for it beside others
};

int64_t bytes_of(const Loaded& loaded) {
  return loaded.error.empty() && !loaded.again ? static_cast<int64_t>(loaded.image.pixels.nbytes()) : 0;
}

// The number, among the images of all ranks, of a rank's own.
int64_t job_number(const World& world, size_t own) {
  return world.rank() + static_cast<int64_t>(own) * world.size();
}

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

// Returns how many images of all ranks could not be read or do not fit into memory.
int64_t predict(const PredictArguments& arguments, World& world, const std::string& device) {
  const std::vector<ImageJob> jobs = own_jobs(world, arguments);
  const TrainedModel trained = arguments.model.load(device);
  constexpr int kPaletteColours = 256;
  if (arguments.results.palette && trained.classes.size() > kPaletteColours)
    fail_usage("--palette: a palette PNG has room for {} classes, the model has {}; leave it out: masks are then 16-bit PNG",
               kPaletteColours, trained.classes.size());
  check_masks_are_kept(trained.experiment.data, arguments.results.folder);
  // Once on each host.
  if (world.spec.local_rank == 0) remove_leftovers(arguments.results.folder);
  const std::string why = world.spec.local_rank == 0 ? why_not_writable(arguments.results.folder) : "";
  TSR_CHECK(why.empty(), "the output folder {} cannot be written: {}", arguments.results.folder, why);
  at::Tensor counts = at::tensor({static_cast<int64_t>(jobs.size()), int64_t{0}},
                                 at::kLong);  // images, and those that failed
  world.control.sum(counts[0]);
  const auto total = counts[0].item<int64_t>();
  if (world.is_first()) log_info("{}: {} {} to {}", trained.title(), total, plural(total, "image"), arguments.place);
  const DataConfig& data = trained.experiment.data;
  const Pipeline pipeline = make_pipeline(data, Split::kVal);
  Predictor predictor = trained.predictor();
  ResultWriter writer(arguments.results, trained.classes, background_class(trained.classes.names, data.labels.binary));
  const int threads = loader_threads(data.threads, world.spec.local_world_size);
  ImageWatch watch(trained.images);
  const bool draws = arguments.results.draws();
  const auto load_image = [&](const std::vector<uint8_t>& bytes, int64_t number, bool compared) {
    Loaded loaded;
    StoredImage image;
    Placement placement;
    if (pipeline.empty() && world.size() == 1) {
      // Nothing is done to the whole image: it stays as its file has it, and windows are converted one by one.
      image = decode_stored(bytes, decode_options(data));
      placement = whole_image(image.size());
      if (compared) loaded.facts = facts_of_file(bytes, thinned(image), data);
    } else {
      Image decoded = decode_image(bytes, decode_options(data));
      if (compared) loaded.facts = facts_of_file(bytes, decoded, data);
      if (draws && !pipeline.empty()) loaded.original = std::make_shared<const StoredImage>(decoded);
      placement = whole_image(decoded.size());
      Sample sample{"", std::move(decoded), std::nullopt, placement};
      run_pipeline(pipeline, sample, trained.experiment.train.seed, 0, static_cast<uint64_t>(number));
      placement = sample.placement;
      image = StoredImage(std::move(sample.image));
    }
    const auto processed = std::make_shared<const StoredImage>(std::move(image));
    if (draws && pipeline.empty()) loaded.original = processed;
    loaded.image = {stored_tensor(processed), processed->max_value, {placement}, data.channels};
    return loaded;
  };
  const auto load = [&](int64_t i) {
    Loaded loaded;
    try {
      const ImageJob& job = jobs[static_cast<size_t>(i)];
      loaded = load_image(read_bytes(job.image), job_number(world, static_cast<size_t>(i)), watch.wants(i));
    } catch (const Error& e) {
      loaded.error = e.what();
    }
    return loaded;
  };
  LoadBudget budget(std::min(kBytesAhead, memory_for_reading_ahead(world.spec.local_world_size)));
  ParallelMap<Loaded> loads(static_cast<int64_t>(jobs.size()), threads, 2 * threads, [&](int64_t i) {
    std::error_code unknown;  // a file that is not there is an error of its own, later
    const auto size = static_cast<int64_t>(fs::file_size(jobs[static_cast<size_t>(i)].image, unknown));
    budget.enter(i, unknown ? 0 : kBytesOfFileByte * size);
    Loaded loaded;
    try {
      loaded = load(i);
    } catch (const std::exception& e) {
      if (why_too_large(e).empty()) throw;
      loaded.again = true;
    }
    budget.resize(i, bytes_of(loaded));
    return loaded;
  });
  const struct BudgetAtEnd {
    LoadBudget& budget;
    ~BudgetAtEnd() { budget.open(); }
  } at_end{budget};  // ends before `loads`, which joins its threads
  const auto load_alone = [&](int64_t i) {
    release_kept_memory();
    try {
      return load(i);
    } catch (const std::exception& e) {
      const std::string why = why_too_large(e);
      if (why.empty()) throw;
      return Loaded{.error = why + " while it was read"};
    }
  };
  const auto find = [&](const ImageGroup& image, const WindowTeam& team,
                        const std::string& name) -> std::optional<ImageResults> {
    try {
      return find_results(predictor, image, arguments.results.probabilities, team);
    } catch (const TooLarge& e) {
      log_error("{}: {}", printable(name), e.what());
      return std::nullopt;
    }
  };
  int64_t failed = 0;
  SharedImages shared(world.control, total);  // at most one is this rank's, its last
  std::optional<Loaded> shared_own;           // that one
  std::optional<ProgressBar> bar;
  if (world.is_first()) bar.emplace("predict", static_cast<int64_t>(jobs.size()));
  int64_t at = 0;  // image
  predictor.watch_windows([&](int64_t done, int64_t all) {
    if (bar)
      bar->update(at, fmt::format("window {}/{} of {}", done, all, printable(jobs[static_cast<size_t>(at)].name.string())));
  });
  for (size_t i = 0; i < jobs.size(); ++i) {
    at = static_cast<int64_t>(i);
    note_sample(at);
    Loaded loaded = loads.next().value();
    if (loaded.again) loaded = load_alone(static_cast<int64_t>(i));
    if (const std::string odd = watch.look(jobs[i].image.string(), loaded.facts); !odd.empty()) log_warn("{}", odd);
    if (!loaded.error.empty()) {
      ++failed;
      log_error("{}: {}", printable(jobs[i].image.string()), printable(loaded.error));
    } else if (shared.wants(job_number(world, i), predictor, loaded.image.height(), loaded.image.width())) {
      log_info("{}: its windows are shared by {} ranks", printable(jobs[i].image.string()), world.size());
      shared.add(loaded.image);
      shared_own = std::move(loaded);
    } else {
      const std::optional<ImageResults> results = find(loaded.image, {}, jobs[i].name.string());
      loaded.image = {};  // only its picture may still be wanted
      if (results) {
        writer.write(jobs[i], loaded.original.get(), *results);
      } else {
        ++failed;
      }
    }
    loaded = {};
    budget.leave(at);
    if (bar && !shared_own) bar->update(static_cast<int64_t>(i + 1));
  }
  while (const std::optional<SharedImages::Turn> turn = shared.next()) {
    if (!turn->has_part()) continue;
    const std::optional<ImageResults> results = find(turn->images, turn->team, jobs.empty() ? "" : jobs.back().name.string());
    if (!turn->team.leads()) continue;
    if (results) {
      writer.write(jobs.back(), shared_own->original.get(), *results);
    } else {
      ++failed;
    }
    if (bar) bar->update(std::ssize(jobs));
  }
  writer.finish(world.control);
  counts[1].fill_(failed);
  world.control.sum(counts[1]);
  failed = counts[1].item<int64_t>();
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
