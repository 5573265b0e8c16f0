#include <map>

#include "apps/command.h"
#include "apps/output_file.h"
#include "apps/python_unet.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "infer/checkpoint/model_state.h"
#include "infer/trained_model.h"
#include "weights/formats/npz.h"
#include "weights/formats/pth_writer.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

struct ExportArguments {
  std::string weights, output, format, layout = "tessera";
  bool raw = false, with_python = false;
};

const std::map<std::string, WeightLayout> kLayouts{
    {"tessera", WeightLayout::kTessera}, {"torchvision", WeightLayout::kTorchvision},
    {"timm", WeightLayout::kTimm},       {"mmseg", WeightLayout::kMmseg},
    {"smp", WeightLayout::kSmp},         {"segmenter", WeightLayout::kSegmenter}};

// As asked for, else as the file's extension says, else, where it has none, safetensors.
std::string format_of(const ExportArguments& arguments) {
  static const std::map<std::string, std::string> known{
      {".pth", "pth"}, {".pt", "pth"}, {".safetensors", "safetensors"}, {".npz", "npz"}};
  const std::string extension = fs::path(arguments.output).extension().string();
  const auto found = known.find(lower(extension));
  if (found == known.end()) {
    if (!extension.empty() && arguments.format.empty())
      fail_usage(
          "--output {}: {} files cannot be written; expected .safetensors, .pth, .pt or .npz, or --format for another name",
          arguments.output, extension);
    return arguments.format.empty() ? "safetensors" : arguments.format;
  }
  if (!arguments.format.empty() && arguments.format != found->second)
    fail_usage("--format {} and --output {} disagree: {} files are of format {}; change one, or leave --format out",
               arguments.format, arguments.output, extension, found->second);
  return found->second;
}

// Only the plain U-Net is no model of another library, so only for it there is something to write.
void check_python(const ExportArguments& arguments, const std::string& format, const Experiment& experiment) {
  if (experiment.model.name != "unet")
    fail_usage("--with-python is for model unet, and {} is a {}; models of other libraries open there: see --layout",
               arguments.weights, experiment.model.name);
  if (format != "pth" || arguments.layout != "tessera")
    fail_usage("--with-python loads a .pth in our own layout; expected -o NAME.pth and no --layout, got {} in {}'s layout",
               format, arguments.layout);
}

void export_weights(const ExportArguments& arguments) {
  const std::string format = format_of(arguments), file = arguments.output.empty() ? "weights." + format : arguments.output;
  check_output_file(file);
  if (arguments.with_python) {
    check_python(arguments, format, trained_experiment(arguments.weights, {}));
    python_module_beside(file);
  }
  const TrainedModel trained =
      load_trained(arguments.weights, {"train.device=cpu", std::string("eval.weights=") + (arguments.raw ? "raw" : "average")});
  const MappedKeys mapped = to_layout(model_state(*trained.model), kLayouts.at(arguments.layout));
  const auto encode = [&]() {
    if (format == "pth") return encode_pth(mapped.tensors);
    if (format == "npz") return encode_npz(mapped.tensors);
    return encode_safetensors(mapped.tensors, {{"format", "pt"}});
  };
  write_file(file, encode());
  fmt::print("{}: {} tensors in {}'s layout from {}\n", printable(file), mapped.tensors.size(), arguments.layout,
             printable(trained.title()));
  if (arguments.with_python) {
    const fs::path module = python_module_beside(file);
    write_file(module, python_unet(trained.experiment, trained.classes, trained.title()));
    fmt::print("{}: the model in PyTorch; load() gives it with these weights\n", printable(module.string()));
  }
  for (const std::string& name : mapped.dropped) fmt::print("  no place for {}\n", printable(name));
}

}  // namespace

void add_export(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "write a trained model for other programs");
  command->require_subcommand(1);
  CLI::App* weights = command->add_subcommand("weights", "its weights as a file that other libraries load");
  std::vector<std::string> layouts;
  for (const auto& entry : kLayouts) layouts.push_back(entry.first);
  weights
      ->add_option("-w,--weights,run", arguments->weights,
                   "run folder (its best checkpoint) or checkpoint folder; may also be the first word")
      ->required();
  weights
      ->add_option("--format", arguments->format,
                   "pth, safetensors or npz; default: as the output's extension says, else safetensors")
      ->check(CLI::IsMember({"pth", "safetensors", "npz"}));
  weights->add_option("--layout", arguments->layout, "whose parameter names to use")
      ->check(CLI::IsMember(layouts))
      ->capture_default_str();
  weights->add_flag("--raw-weights", arguments->raw, "the weights as trained where the run also has their moving average");
  weights->add_flag("--with-python", arguments->with_python,
                    "of a U-Net also write a Python module beside the .pth that defines it and loads it: m.pth, m.py");
  weights->add_option("-o,--output", arguments->output, "file to write; default: weights.FORMAT");
  weights->callback([arguments] { export_weights(*arguments); });
}

}  // namespace tessera
