#include "train/run.h"

#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/rank_status.h"
#include "core/secrets.h"
#include "core/signals.h"
#include "data/decode/png_writer.h"
#include "infer/auto_precision.h"
#include "infer/environment.h"
#include "infer/pictures.h"
#include "infer/rank_consensus.h"
#include "report/html_report.h"
#include "tensor/error_text.h"
#include "tensor/too_large.h"
#include "train/hooks/console.h"
#include "train/hooks/evaluations.h"
#include "train/hooks/record.h"
#include "train/run_copy.h"

namespace tessera {
namespace {

// RUN/predictions: the drawn predictions as PNG files, with index.json to say what each is.
void save_pictures(const fs::path& folder, Access access, const std::vector<DrawnPrediction>& best,
                   const std::vector<DrawnPrediction>& worst) {
  make_folders(folder, access);
  nlohmann::json index = nlohmann::json::array();
  const auto save = [&](const std::vector<DrawnPrediction>& drawn, const std::string& kind) {
    for (size_t i = 0; i < drawn.size(); ++i) {
      const std::string file = fmt::format("{}-{}.png", kind, i);
      write_file(folder / file, encode_png(drawn[i].picture), access);
      index.push_back({{"file", file}, {"kind", kind}, {"caption", drawn[i].caption}, {"mean_iou", drawn[i].score}});
    }
  };
  save(best, "best");
  save(worst, "worst");
  write_file(folder / "index.json", json_text(index, 2), access);
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

// What the environment.json of a run that is there says of where it came from; null where it says nothing.
nlohmann::json origin_written_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / "environment.json", error)) return {};
  const auto before = nlohmann::json::parse(read_text(folder / "environment.json"), nullptr, /*allow_exceptions=*/false);
  return before.is_object() ? before.value("from", nlohmann::json()) : nlohmann::json();
}

// What a run is, for people and for its report.
void describe_run(const fs::path& folder, const Trainer& trainer, int ranks) {
  const Experiment& experiment = trainer.experiment();  // with what was decided about it
  const Access access = run_access(experiment.run, folder);
  make_folders(folder, access);
  write_file(folder / "config.yaml", experiment_yaml(experiment), access);
  nlohmann::json environment = describe_environment();
  if (trainer.origin()) {
    environment["from"] = *trainer.origin();
  } else if (const auto before = origin_written_in(folder); trainer.resumed() && !before.is_null()) {
    environment["from"] = before;
  }
  environment["device"] = trainer.device();
  environment["ranks"] = ranks;
  environment["model"] = {{"name", experiment.model.name}, {"parameters", trainer.num_parameters()}};
  environment["classes"] = {{"names", trainer.classes().names}, {"palette", trainer.classes().palette}};
  write_file(folder / "environment.json", json_text(environment, 2), access);
}

// The best and the worst of the last evaluation.
void draw_predictions(const fs::path& folder, const Trainer& trainer, const RunResult& result, Hooks& hooks) {
  const Experiment& experiment = trainer.experiment();
  const auto draw = [&](bool want_best) {
    return draw_extremes(*result.last_eval, trainer.evaluator(), trainer.predictor(), trainer.classes(),
                         experiment.run.pictures, want_best, experiment.eval.at == EvalSize::kOriginal);
  };
  const auto best = draw(true), worst = draw(false);
  save_pictures(folder / "predictions", run_access(experiment.run, folder), best, worst);
  hooks.on_pictures(result.state, best, worst);
}

// The run is done and saved: what is drawn of it may fail, and it is still done.
void attempt(const char* what, const std::function<void()>& make) {
  for (const bool last : {false, true}) {
    try {
      return make();
    } catch (const std::exception& e) {
      release_kept_memory();  // of the training, which is over: it may be all that a second try needs
      if (!last && !why_too_large(e).empty()) continue;
      return log_warn("the run is saved, but {}: {}", what, error_text(e));
    }
  }
}

// A trainer on each rank. Where memory ran out on any of them before they were whole, all begin anew, once: what was kept for
// later may be enough. See Note [Meeting again].
std::unique_ptr<Trainer> make_trainer(const Experiment& experiment, const RunOptions& options, World& world) {
  for (const bool again : {false, true}) {
    try {
      auto trainer = std::make_unique<Trainer>(experiment, options, world);
      max_over_ranks(world, 0);  // all have one
      return trainer;
    } catch (const PeerLost&) {
      if (again || !world.wants_to_meet_again()) throw;
    } catch (const std::exception& e) {
      const std::string why = why_too_large(e);
      if (why.empty()) throw;
      if (again)
        fail(
            "{} before the first step: weights, gradients, the optimizer's state and the data's lists have no room; free "
            "memory, "
            "use a smaller model, train.precision=bf16, an optimizer with less state or -p zero1, which splits it over the "
            "ranks. {}",
            why, error_text(e));
      log_warn("{} before the first step: all begin anew", why);
    }
    if (!world.alone()) world.leave();
    release_kept_memory();
    if (!world.alone()) world.meet_again();
  }
  return nullptr;  // the second time is the last
}

}  // namespace

Hooks default_hooks(const Experiment& experiment) {
  Hooks hooks;
  hooks.add(std::make_unique<ConsoleHook>());
  hooks.add(std::make_unique<RunLogHook>());
  hooks.add(std::make_unique<EvaluationsHook>());
  if (experiment.run.tensorboard) hooks.add(std::make_unique<TensorBoardHook>());
  return hooks;
}

RunResult run_training(const Experiment& experiment, const RunOptions& options, World& world) {
  Hooks hooks = world.is_first() ? default_hooks(experiment) : Hooks();
  return run_training(experiment, options, world, hooks);
}

RunResult run_training(const Experiment& asked, const RunOptions& options, World& world, Hooks& hooks) {
  constexpr const char* kNotice =
      "\nstopping: the step or the pass of an evaluation under way is finished, then the run is saved; again to stop at once\n";
  begin_run();
  const fs::path folder = run_folder(asked);
  Experiment experiment = asked;
  std::optional<NewFolders> refused;
  if (world.is_first()) refused.emplace(folder);
  const Access access = run_access(asked.run, folder);
  const auto lock = world.is_first() ? claim_folder(folder, options.resume, access) : nullptr;
  const auto copy = world.is_first() ? open_run_copy(asked, folder, options.resume, access) : nullptr;
  experiment.train.precision = precision_of_run(asked.train, folder, options.resume, options.device, world);
  catch_stop_signals();
  std::optional<StopNotice> notice;
  if (world.is_first()) notice.emplace(kNotice);
  const std::unique_ptr<Trainer> trainer = make_trainer(experiment, options, world);
  if (world.is_first()) {
    refused->keep();
    if (!trainer->resumed()) set_failed_run_aside(folder);
    describe_run(folder, *trainer, world.size());
  }
  RunResult result = trainer->run(hooks);

  const bool draws = options.report && result.last_eval && result.complete();  // the same on all ranks
  const auto averaged = draws ? trainer->averaged_weights() : nullptr;
  if (!world.is_first()) return result;
  if (!options.report) {
    finish_run_copy(copy.get());
    return result;
  }
  if (draws) attempt("its predictions were not drawn", [&] { draw_predictions(folder, *trainer, result, hooks); });
  attempt("its report was not made; `tessera report` makes it", [&] {
    std::error_code error;
    if (!fs::exists(folder / "config.yaml", error)) describe_run(folder, *trainer, world.size());  // removed meanwhile
    write_report(folder);
  });
  finish_run_copy(copy.get());
  return result;
}

void write_report(const fs::path& folder) {
  ReportInput input;
  input.history = read_run_log(folder / "log.jsonl");
  input.title = fs::absolute(folder).lexically_normal().filename().string();
  input.config_yaml = mask_urls(read_text(folder / "config.yaml"));  // older runs saved them whole
  nlohmann::json environment = nlohmann::json::parse(read_text(folder / "environment.json"));
  input.model = environment.at("model");
  input.class_names = environment.at("classes").at("names").get<std::vector<std::string>>();
  input.palette = environment.at("classes").at("palette").get<std::vector<Color>>();
  environment.erase("model");
  environment.erase("classes");
  input.environment = environment;
  input.best = load_pictures(folder / "predictions", "best");
  input.worst = load_pictures(folder / "predictions", "worst");
  write_file(folder / "report.html", render_report(input), access_like(folder / "config.yaml"));
}

}  // namespace tessera
