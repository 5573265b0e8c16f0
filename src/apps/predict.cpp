#include <glob.h>

#include <iostream>
#include <set>
#include <thread>

#include "apps/command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/parallel_map.h"
#include "core/progress_bar.h"
#include "data/decode.h"
#include "data/overlay.h"
#include "data/placement.h"
#include "data/png_writer.h"
#include "data/transforms/make_pipeline.h"
#include "train/inference.h"
#include "train/pictures.h"
#include "weights/npz.h"

namespace tessera {
namespace {

struct PredictArguments {
  std::string weights, output = "predictions";
  std::vector<std::string> inputs, overrides;
  bool overlay = false, palette = false, probabilities = false;
};

// An image to predict and the name of its result, relative to the output folder and without extension.
struct Job {
  fs::path image;
  fs::path name;
};

bool is_image_name(const fs::path& path) {
  static const std::set<std::string> known{".jpg", ".jpeg", ".png", ".tif", ".tiff"};
  return known.count(lower(path.extension().string())) > 0;
}

void add_input(const std::string& input, std::vector<Job>& jobs) {
  std::error_code error;
  if (fs::is_directory(input, error)) {
    for (const fs::path& file : list_files(input)) {
      if (is_image_name(file)) jobs.push_back({file, fs::relative(file, input).replace_extension()});
    }
  } else if (fs::exists(input, error)) {
    jobs.push_back({input, fs::path(input).stem()});
  } else {
    glob_t found{};
    if (::glob(input.c_str(), GLOB_TILDE, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) jobs.push_back({found.gl_pathv[i], fs::path(found.gl_pathv[i]).stem()});
    }
    ::globfree(&found);
    if (found.gl_pathc == 0) fail_usage("no image, folder or pattern matches '{}'", input);
  }
}

std::vector<Job> collect_jobs(const std::vector<std::string>& inputs) {
  std::vector<Job> jobs;
  for (const std::string& input : inputs) {
    if (input == "-") {
      for (std::string line; std::getline(std::cin, line);) {
        if (!line.empty()) add_input(line, jobs);
      }
    } else {
      add_input(input, jobs);
    }
  }
  if (jobs.empty())
    fail_usage("no images found; expected .jpg, .png or .tif files, folders of them, or a list on stdin with '-'");
  // a.jpg and a.png must not write one result: then the extension stays in the name.
  std::multiset<fs::path> names;
  for (const Job& job : jobs) names.insert(job.name);
  for (Job& job : jobs) {
    if (names.count(job.name) > 1) job.name += "_" + job.image.extension().string().substr(job.image.has_extension() ? 1 : 0);
  }
  return jobs;
}

struct Loaded {
  Image original;
  Sample sample;
  std::string error;
};

void write_results(const PredictArguments& arguments, const TrainedModel& trained, const Predictor& predictor, const Job& job,
                   const Loaded& loaded) {
  const at::Tensor scores = predictor.scores(image_tensor(loaded.sample.image), loaded.sample.image.max_value)[0];
  const LabelMap labels = to_label_map(predictor.classes(scores, &loaded.sample.placement));
  const fs::path base = fs::path(arguments.output) / job.name;
  fs::create_directories(base.parent_path());
  const auto with = [&](const char* suffix) { return fs::path(base.string() + suffix); };
  write_file(with(".png"), arguments.palette ? encode_png_palette(labels, trained.classes.palette) : encode_png_labels(labels));
  if (arguments.overlay)
    write_file(with("_overlay.png"), encode_png(overlay(to_display(loaded.original), labels, trained.classes.palette, 0.45F)));
  if (arguments.probabilities)
    write_file(with("_probabilities.npy"),
               encode_npy(predictor.probabilities(scores, &loaded.sample.placement).to(at::kFloat), job.name.string()));
}

int predict(const PredictArguments& arguments) {
  const TrainedModel trained = load_trained(arguments.weights, arguments.overrides);
  const std::vector<Job> jobs = collect_jobs(arguments.inputs);
  const std::string why = why_not_writable(arguments.output);
  TSR_CHECK(why.empty(), "the output folder {} cannot be written: {}", arguments.output, why);
  log_info("{} at step {}: {} images to {}", trained.checkpoint.string(), trained.step, jobs.size(), arguments.output);
  const DataConfig& data = trained.experiment.data;
  const Pipeline pipeline = make_pipeline(data, Split::kVal);
  const Predictor predictor = trained.predictor();
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  ParallelMap<Loaded> loads(static_cast<int64_t>(jobs.size()), threads, 2 * threads, [&](int64_t i) {
    Loaded loaded;
    try {
      const Job& job = jobs[static_cast<size_t>(i)];
      loaded.original = decode_image(read_bytes(job.image), {static_cast<int>(data.channels), data.exif_orientation});
      loaded.sample = {job.name.string(), loaded.original, std::nullopt, whole_image(loaded.original.size())};
      run_pipeline(pipeline, loaded.sample, static_cast<uint64_t>(trained.experiment.train.seed), 0, static_cast<uint64_t>(i));
    } catch (const Error& e) {
      loaded.error = e.what();
    }
    return loaded;
  });
  int64_t failed = 0;
  ProgressBar bar("predict", static_cast<int64_t>(jobs.size()));
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Loaded loaded = loads.next().value();
    if (loaded.error.empty()) {
      write_results(arguments, trained, predictor, jobs[i], loaded);
    } else {
      ++failed;
      log_error("{}: {}", jobs[i].image.string(), loaded.error);
    }
    bar.update(static_cast<int64_t>(i + 1));
  }
  fmt::print("{} predictions in {}\n", jobs.size() - static_cast<size_t>(failed), arguments.output);
  if (failed > 0) log_error("{} of {} images could not be read", failed, jobs.size());
  return failed > 0 ? 1 : 0;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "segment images with a trained model");
  command->add_option("-w,--weights", arguments->weights, "run folder (its best checkpoint) or checkpoint folder")->required();
  command->add_option("inputs", arguments->inputs, "images, folders, patterns in quotes, or - for a list on stdin")->required();
  command->add_option("-o,--output", arguments->output, "folder for the results")->capture_default_str();
  command->add_flag("--palette", arguments->palette,
                    "masks as palette PNG in the classes' colours (the values are still class numbers)");
  command->add_flag("--overlay", arguments->overlay, "also the image with the classes drawn over it: NAME_overlay.png");
  command->add_flag("--probabilities", arguments->probabilities,
                    "also class probabilities: NAME_probabilities.npy, float32 (classes, height, width)");
  command->add_option("--set", arguments->overrides, "change a value of the checkpoint's config: --set eval.flip=true");
  command->footer(
      "Masks are PNG files with the class number of each pixel, at the size of the image. Preprocessing comes from the "
      "checkpoint.");
  command->callback([arguments, &exit_code] { exit_code = predict(*arguments); });
}

}  // namespace tessera
