#include <torch/types.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/attention_pictures.h"
#include "apps/command.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/plural.h"
#include "core/printable.h"
#include "data/batch/image_tensor.h"
#include "data/batch/normalize.h"
#include "data/datasets/load_sample.h"
#include "data/decode/decode.h"
#include "data/sample.h"
#include "data/transforms/make_pipeline.h"
#include "infer/precision.h"
#include "infer/trained_model.h"
#include "nn/models/segmenter.h"

namespace tessera {
namespace {

struct AttentionArguments {
  std::string weights, output = "attention", heads = "mean";
  std::vector<std::string> inputs, overrides;
  std::vector<int64_t> layers, query;
  bool masks = false, decoder = false, grey = false;
};

std::vector<int64_t> chosen_heads(const std::string& text, int64_t heads) {
  std::vector<int64_t> chosen;
  if (text == "all") {
    for (int64_t i = 0; i < heads; ++i) chosen.push_back(i);
    return chosen;
  }
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    int64_t head = -1;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), head);
    if (error != std::errc() || stop != word.data() + word.size() || head < 0 || head >= heads)
      fail_usage("--heads {}: expected mean, all or numbers from 0 to {}, such as 0,2", text, heads - 1);
    chosen.push_back(head);
  }
  return chosen;
}

// maps: (heads, h, w).
void add_heads(AttentionPictures& pictures, const at::Tensor& maps, int64_t patch, const std::string& heads,
               const std::string& what, nlohmann::json facts) {
  facts["head"] = "mean";
  if (heads == "mean") return pictures.add(maps.mean(0), patch, what + "_mean", facts);
  for (const int64_t head : chosen_heads(heads, maps.size(0))) {
    facts["head"] = head;
    pictures.add(maps[head], patch, fmt::format("{}_head{}", what, head), facts);
  }
}

nlohmann::json draw(const AttentionArguments& arguments, const TrainedModel& trained, SegmenterImpl& model,
                    const ImageJob& job) {
  const DataConfig& data = trained.experiment.data;
  const Image original = decode_image(read_bytes(job.image), decode_options(data));
  Sample sample{job.name.string(), original, std::nullopt, whole_image(original.size())};
  run_pipeline(make_pipeline(data, Split::kVal), sample, trained.experiment.train.seed, 0, 0);
  TSR_CHECK(sample.placement.complete && !sample.placement.flipped,
            "the validation transforms cut or mirror the image, so maps cannot be laid over it; use resize or pad");
  const at::Tensor x = normalize_images(image_tensor(sample.image).to(trained.device), sample.image.max_value, data.normalize,
                                        parameter_type(trained.experiment.train.precision));
  AttentionPictures pictures(arguments.output, job, original, sample.placement, arguments.grey);
  const int64_t patch = model.patch();

  std::vector<int64_t> layers = arguments.layers;
  if (layers.empty()) layers.push_back(model.num_layers() - 1);
  for (const int64_t layer : layers) {
    const AttentionMaps maps = model.encoder_attention(x, layer);
    nlohmann::json facts{{"part", "encoder"}, {"layer", layer}, {"query", "class"}};
    int64_t token = 0;  // the class token is the first
    if (!arguments.query.empty()) {
      const auto [row, column] = pictures.set_query(arguments.query[0], arguments.query[1], patch);
      token = maps.prefix + row * maps.grid[1] + column;
      facts["query"] = {{"y", arguments.query[0]}, {"x", arguments.query[1]}, {"row", row}, {"column", column}};
    }
    add_heads(pictures, maps.of_token(token)[0], patch, arguments.heads, fmt::format("layer{}", layer), facts);
  }
  pictures.clear_query();
  if (!arguments.masks && !arguments.decoder) return pictures.index();

  // Only classes that win a patch: of 150 most are not in an image.
  const at::Tensor masks = model.class_masks(x)[0], one = masks.sigmoid();
  const at::Tensor shares = masks.size(0) == 1 ? at::cat({1 - one, one}) : masks.softmax(0), winners = shares.argmax(0);
  const at::Tensor looks = arguments.decoder ? model.decoder_attention(x, 0).of_classes()[0] : at::Tensor();
  for (int64_t c = 0; c < shares.size(0); ++c) {
    if (!(winners == c).any().item<bool>()) continue;
    const std::string& name = trained.classes.names[c];
    nlohmann::json facts{{"part", "mask"}, {"class", name}};
    if (arguments.masks) pictures.add(shares[c], patch, fmt::format("mask{}", c), facts);
    facts["part"] = "decoder";
    if (arguments.decoder)
      add_heads(pictures, looks.select(1, std::min(c, looks.size(1) - 1)), patch, arguments.heads, fmt::format("class{}", c),
                facts);
  }
  return pictures.index();
}

void attention(const AttentionArguments& arguments) {
  const at::NoGradGuard no_grad;
  const TrainedModel trained = load_trained(arguments.weights, arguments.overrides);
  auto* model = trained.model->as<SegmenterImpl>();
  if (model == nullptr)
    fail_usage("{} is a {}; attention maps are of model segmenter", arguments.weights, trained.experiment.model.name);
  if (arguments.decoder && !model->has_class_tokens())
    fail_usage("--decoder: this Segmenter has a linear decoder, which has no attention; --masks works with both");
  const std::vector<ImageJob> jobs = collect_image_jobs(arguments.inputs);
  const std::string why = why_not_writable(arguments.output);
  TSR_CHECK(why.empty(), "the output folder {} cannot be written: {}", arguments.output, why);
  nlohmann::json index = nlohmann::json::array();
  for (const ImageJob& job : jobs) {
    try {
      for (const auto& entry : draw(arguments, trained, *model, job)) index.push_back(entry);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& e) {
      fail("{}: {}", job.image.string(), e.what());
    }
  }
  write_file(fs::path(arguments.output) / "index.json", json_text(index, 2));
  const auto pictures = static_cast<int64_t>(index.size()), images = static_cast<int64_t>(jobs.size());
  fmt::print("{} {} of {} {} in {}\n", pictures, plural(pictures, "picture"), images, plural(images, "image"),
             printable(arguments.output));
}

}  // namespace

void add_attention(CLI::App& app, int& exit_code) {
  exit_code = 0;
  auto arguments = std::make_shared<AttentionArguments>();
  CLI::App* command = app.add_subcommand("attention", "pictures of what a Segmenter looks at");
  command->add_option("-w,--weights", arguments->weights, "run folder (its best checkpoint) or checkpoint folder")->required();
  command
      ->add_option("inputs", arguments->inputs,
                   "images, folders, patterns in quotes, or - for a list on stdin (lines, or find -print0)")
      ->required();
  command->add_option("-o,--output", arguments->output, "folder for the pictures")->capture_default_str();
  command->add_option("--layer", arguments->layers, "an encoder layer, from 0, may be given again; default: the last")
      ->check(zero_or_more())
      ->allow_extra_args(false);
  command->add_option("--heads", arguments->heads, "mean, all, or numbers from 0: 0,2")->capture_default_str();
  command
      ->add_option("--query", arguments->query, "row and column of a pixel: what its patch looks at; default: the class token")
      ->expected(2)
      ->option_text("Y X");
  command->add_flag("--masks", arguments->masks, "also the mask of each class that is in the image");
  command->add_flag("--decoder", arguments->decoder,
                    "also what each of these classes looks at in the mask decoder's first layer");
  command->add_flag("--grey", arguments->grey, "also the bare maps as grey PNG: white is the highest value");
  command
      ->add_option("--set", arguments->overrides,
                   "change a value of the checkpoint's config, may be given again: --set train.device=cpu")
      ->allow_extra_args(false)
      ->option_text("key=value");
  command->footer(
      "Writes NAME_layer11_mean.png and the like: the image with the map over it, yellow where the weight is highest, the "
      "query's patch framed in green. index.json says what each picture is. The whole image goes through the network at once.");
  command->callback([arguments] { attention(*arguments); });
}

}  // namespace tessera
