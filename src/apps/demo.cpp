#include <chrono>

#include "apps/command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/progress_bar.h"
#include "data/batch/image_tensor.h"
#include "data/datasets/dataset_factory.h"
#include "data/decode/png_writer.h"
#include "infer/pictures.h"
#include "infer/trained_model.h"
#include "tensor/core_watch.h"
#include "train/run.h"

namespace tessera {
namespace {

// Predicts a few fields that neither training nor validation saw, as `tessera predict` would, and puts them on one sheet.
fs::path predict_new_fields(const TrainedModel& trained, const fs::path& folder) {
  constexpr int64_t kFields = 3;
  DataConfig unseen = trained.experiment.data;
  unseen.synthetic.seed += 1;
  unseen.val.count = kFields;
  const DatasetPtr fields = make_dataset(unseen, Split::kVal);
  const Predictor predictor = trained.predictor();
  std::vector<Image> rows;
  for (int64_t i = 0; i < kFields; ++i) {
    const Sample sample = fields->get(i);
    const at::Tensor classes = predictor.class_maps({image_tensor(sample.image), sample.image.max_value, {std::nullopt}})[0];
    rows.push_back(draw_row(sample.image, *sample.labels, {to_label_map(classes)}, trained.classes, 256));
  }
  write_file(folder / "new_fields.png", encode_png(stack_vertically(rows, 4)));
  return folder / "new_fields.png";
}

// A demo is made to be repeated: what an earlier one wrote is removed, and nothing else.
void make_room(const fs::path& folder) {
  const fs::path mark = folder / ".demo";
  std::error_code error;
  const bool again = fs::exists(mark, error);
  if (!again && fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
    fail_usage("{} is there and holds no demo; name another folder with -o", folder.string());
  for (const char* name : {"checkpoints", "config.yaml", "environment.json", "log.jsonl", "new_fields.png", "predictions",
                           "report.html", "tensorboard"}) {
    if (again) fs::remove_all(folder / name, error);
  }
  make_folders(folder, access_at(folder));
  write_file(mark, std::string_view("made by tessera demo; what it wrote here is replaced by the next one\n"));
}

void demo(const std::string& folder, std::vector<std::string> overrides) {
  const auto begin = std::chrono::steady_clock::now();
  overrides.insert(overrides.begin(), "run.dir=" + folder);
  const Experiment experiment = load_experiment("builtin:demo", overrides);
  make_room(folder);
  log_info("demo: a U-Net learns to find the nuclei in synthetic microscopy fields");
  World alone;
  const CoreWatch watch;
  const RunResult result = run_training(experiment, {}, alone);
  if (result.signal != 0) throw Error("the demo was stopped");
  TSR_CHECK(result.last_eval, "the demo was trained, but not evaluated; the warning above says why");
  const fs::path sheet = predict_new_fields(load_trained(folder, {}), folder);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  fmt::print("\nmean IoU {:.4f} on held-out fields, after {} in all\n\n", result.last_eval->report.mean_iou_present,
             format_seconds(seconds));
  fmt::print("  report          {}/report.html      open it in a browser\n", folder);
  fmt::print("  new fields      {}      image, truth, prediction\n\n", sheet.string());
  fmt::print("try next:\n");
  fmt::print("  tessera eval --weights {} eval.flip=true\n", folder);
  fmt::print("  tessera predict --weights {} --overlay YOUR_IMAGES/ -o predictions\n", folder);
  fmt::print("  tessera train unet data.path=YOUR_FOLDER      (YOUR_FOLDER/images, YOUR_FOLDER/masks)\n");
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto folder = std::make_shared<std::string>("runs/demo");
  auto overrides = std::make_shared<std::vector<std::string>>();
  CLI::App* command =
      app.add_subcommand("demo", "train a small U-Net on synthetic cells, evaluate, predict, report: a few minutes on a CPU");
  command->add_option("-o,--output", *folder, "run folder, new or empty; the files of an earlier demo are replaced")
      ->capture_default_str();
  command->add_option("overrides", *overrides, "values to change in configs/demo.yaml")->option_text("key=value ...");
  command->callback([=] { demo(*folder, *overrides); });
}

}  // namespace tessera
