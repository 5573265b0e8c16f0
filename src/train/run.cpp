#include "train/run.h"

#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "core/file_lock.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/signals.h"
#include "data/png_writer.h"
#include "report/html_report.h"
#include "train/auto_precision.h"
#include "train/environment.h"
#include "train/hooks/console.h"
#include "train/hooks/record.h"
#include "train/pictures.h"

namespace tessera {
namespace {

std::string this_process() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("process {} on {}", ::getpid(), host);
}

// One process at a time writes to a run's folder. A run that is to go on may still be saving where it was stopped.
std::unique_ptr<FileLock> lock_folder(const fs::path& folder, bool resume) {
  constexpr int kPatience_s = 60;
  auto lock = std::make_unique<FileLock>(folder / ".lock", "set run.dir to another place");
  for (int waited = 0; !lock->try_lock(); ++waited) {
    if (!resume || waited == kPatience_s) {
      fail_usage("{} is in use by {}; wait until it has ended, or set run.dir (or run.name) to start another run",
                 folder.string(), lock->signature());
    }
    if (waited == 0) log_info("waiting for {}, which writes to {}", lock->signature(), folder.string());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  lock->sign(this_process());
  return lock;
}

// A folder with a log or a checkpoint in it belongs to a run already.
std::unique_ptr<FileLock> claim_folder(const fs::path& folder, bool resume) {
  const std::string why = why_not_writable(folder);
  TSR_CHECK(why.empty(), "the run folder {} cannot be written: {}; set run.dir to another place", folder.string(), why);
  auto lock = lock_folder(folder, resume);
  std::error_code error;
  const fs::path saved = folder / "checkpoints";
  const bool used = fs::exists(folder / "log.jsonl", error) || (fs::exists(saved, error) && !fs::is_empty(saved, error));
  if (used && !resume)
    fail_usage("{} already holds a run; add --resume to go on with it, or set run.dir (or run.name) to start another",
               folder.string());
  return lock;
}

// A run that is refused before its first step leaves no folder behind, unless somebody put something there.
class NewFolder {
 public:
  explicit NewFolder(fs::path folder) : folder_(std::move(folder)) {}
  ~NewFolder() {
    if (folder_.empty()) return;
    std::error_code ignored;
    for (const char* name : {".lock", "checkpoints", ""}) fs::remove(folder_ / name, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void keep() { folder_.clear(); }

 private:
  fs::path folder_;
};

// RUN/predictions: the drawn predictions as PNG files, with index.json to say what each is.
void save_pictures(const fs::path& folder, const std::vector<DrawnPrediction>& best,
                   const std::vector<DrawnPrediction>& worst) {
  fs::create_directories(folder);
  nlohmann::json index = nlohmann::json::array();
  const auto save = [&](const std::vector<DrawnPrediction>& drawn, const std::string& kind) {
    for (size_t i = 0; i < drawn.size(); ++i) {
      const std::string file = fmt::format("{}-{}.png", kind, i);
      write_file(folder / file, encode_png(drawn[i].picture));
      index.push_back({{"file", file}, {"kind", kind}, {"caption", drawn[i].caption}, {"mean_iou", drawn[i].score}});
    }
  };
  save(best, "best");
  save(worst, "worst");
  write_file(folder / "index.json", json_text(index, 2));
}

std::vector<ReportPicture> load_pictures(const fs::path& folder, const std::string& kind) {
  std::vector<ReportPicture> pictures;
  if (!fs::exists(folder / "index.json")) return pictures;
  for (const auto& entry : nlohmann::json::parse(read_text(folder / "index.json"))) {
    if (entry.at("kind") != kind) continue;
    pictures.push_back({entry.at("caption"), entry.at("mean_iou"), read_bytes(folder / entry.at("file").get<std::string>())});
  }
  return pictures;
}

}  // namespace

fs::path run_folder(const Experiment& experiment) {
  if (!experiment.run.dir.empty()) return experiment.run.dir;
  return fs::path("runs") / (experiment.run.name.empty() ? "run" : experiment.run.name);
}

RunResult run_training(const Experiment& asked, const RunOptions& options, World& world) {
  const fs::path folder = run_folder(asked);
  Experiment experiment = asked;
  experiment.train.precision = precision_of_run(asked.train, folder, options.resume, options.device, world);
  std::error_code error;
  const bool is_new = world.is_first() && !fs::exists(folder, error);
  const auto lock = world.is_first() ? claim_folder(folder, options.resume) : nullptr;
  NewFolder refused(is_new ? folder : fs::path());
  catch_stop_signals();
  Trainer trainer(experiment,
                  {folder, options.resume, options.device, options.sharded, options.autotune_exchange, options.timeline},
                  world);
  refused.keep();
  if (!world.is_first()) return trainer.run();

  write_file(folder / "config.yaml", experiment_yaml(experiment));
  nlohmann::json environment = describe_environment();
  environment["device"] = trainer.device();
  environment["ranks"] = world.size();
  environment["model"] = {{"name", experiment.model.name}, {"parameters", trainer.num_parameters()}};
  environment["classes"] = {{"names", trainer.classes().names}, {"palette", trainer.classes().palette}};
  write_file(folder / "environment.json", json_text(environment, 2));
  trainer.add_hook(std::make_unique<ConsoleHook>());
  trainer.add_hook(std::make_unique<RunLogHook>());
  TensorBoardHook* board = nullptr;
  if (experiment.run.tensorboard) {
    auto hook = std::make_unique<TensorBoardHook>();
    board = hook.get();
    trainer.add_hook(std::move(hook));
  }
  RunResult result = trainer.run();

  if (result.last_eval && result.signal == 0) {
    const auto draw = [&](bool want_best) {
      return draw_extremes(*result.last_eval, trainer.evaluator(), trainer.predictor(), trainer.classes(),
                           experiment.run.pictures, want_best, experiment.eval.at == EvalSize::kOriginal);
    };
    const auto best = draw(true), worst = draw(false);
    save_pictures(folder / "predictions", best, worst);
    for (size_t i = 0; board != nullptr && i < worst.size(); ++i) {
      board->picture(fmt::format("predictions/worst_{}", i), encode_png(worst[i].picture), worst[i].picture.size(),
                     result.state.step);
    }
  }
  write_report(folder);
  return result;
}

void write_report(const fs::path& folder) {
  ReportInput input;
  input.history = read_run_log(folder / "log.jsonl");
  input.title = fs::absolute(folder).lexically_normal().filename().string();
  input.config_yaml = read_text(folder / "config.yaml");
  nlohmann::json environment = nlohmann::json::parse(read_text(folder / "environment.json"));
  input.model = environment.at("model");
  input.class_names = environment.at("classes").at("names").get<std::vector<std::string>>();
  input.palette = environment.at("classes").at("palette").get<std::vector<Color>>();
  environment.erase("model");
  environment.erase("classes");
  input.environment = environment;
  input.best = load_pictures(folder / "predictions", "best");
  input.worst = load_pictures(folder / "predictions", "worst");
  write_file(folder / "report.html", render_report(input));
}

}  // namespace tessera
