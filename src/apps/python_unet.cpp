#include "apps/python_unet.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/embedded.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "core/version.h"

namespace tessera {

EmbeddedFiles python_modules();

namespace {

const std::string kFirstWords = "\"\"\"A U-Net trained by Tessera";

// A JSON list of numbers or texts is one of Python's.
template <class T>
std::string python_list(const std::vector<T>& values) {
  return json_text(nlohmann::json(values));
}

// In a string of three quotes.
std::string in_docstring(std::string text) {
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\\', '/');
  return printable(text);
}

std::vector<int64_t> convs_per_height(const UNetConfig& unet) {
  return unet.convs.size() == 1 ? std::vector<int64_t>(unet.channels.size() + 1, unet.convs[0]) : unet.convs;
}

}  // namespace

std::string python_unet(const Experiment& experiment, const ClassTable& classes, const std::string& title) {
  const UNetConfig& unet = experiment.model.unet;
  const NormalizeConfig& normalize = experiment.data.normalize;
  std::string text = fmt::format(
      "{} {} ({}), in plain PyTorch.\n\n"
      "    model = load()\n"
      "    shares = probabilities(model(prepare(image).to(next(model.parameters()).dtype)))\n\"\"\"\n"
      "import pathlib\n\nimport numpy\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n",
      kFirstWords, version(), in_docstring(title));
  const auto constant = [&](const char* name, const std::string& value) { text += fmt::format("{} = {}\n", name, value); };
  const auto quoted = [](std::string_view word) { return fmt::format("\"{}\"", word); };
  constant("CLASSES", python_list(classes.names));
  constant("LOGITS", std::to_string(logit_channels(experiment.loss, classes.size())));
  constant("OVERLAP", (classes.multi_label ? "True" : "False") + std::string("  # whether a pixel may be of several classes"));
  constant("IN_CHANNELS", std::to_string(experiment.data.channels));
  constant("CHANNELS", python_list(unet.channels) + "  # per height, top first");
  constant("CONVS", python_list(convs_per_height(unet)) + "  # the last: of the bottleneck");
  constant("BOTTLENECK", std::to_string(unet.bottleneck > 0 ? unet.bottleneck : 2 * unet.channels.back()));
  constant("PADDING", quoted(name_of(unet.padding)));
  constant("BATCH_NORM", unet.batch_norm ? "True" : "False");
  constant("UP", quoted(name_of(unet.up)));
  constant("FIRST_SKIP",
           (unet.skips == Skips::kAll ? "0" : "1") + std::string("  # the first height that is joined on the way up"));
  constant("DROPOUT", fmt::format("{}", unet.dropout));
  constant("NORMALIZE", quoted(name_of(normalize.mode)));
  constant("MEAN, STD", python_list(normalize.mean) + ", " + python_list(normalize.std));
  constant("LOW, HIGH", python_list(normalize.low_value) + ", " + python_list(normalize.high_value));
  return text + std::string(find_embedded(python_modules(), "unet_module.py")->content);
}

fs::path python_module_beside(const fs::path& weights) {
  fs::path module = weights;
  module.replace_extension(".py");
  std::error_code error;
  if (fs::exists(module, error) && !read_text(module).starts_with(kFirstWords))
    fail_usage("--with-python would replace {}, which is no module of ours; name the weights otherwise with --output",
               module.string());
  return module;
}

}  // namespace tessera
