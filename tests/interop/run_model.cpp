// Our side of check_model_files.py: run_model JOBS.json. For each job, a model is made from settings, takes its weights from a
// file that Python wrote, is exported, and computes: evaluation outputs, one training pass with gradients, two more for the
// statistics of batch norm. Gradients and statistics are written under the names that each layout gives them.
#include <fmt/format.h>
#include <torch/types.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "config/experiment.h"
#include "core/error.h"
#include "core/files.h"
#include "infer/checkpoint/model_state.h"
#include "infer/pretrained.h"
#include "tensor/prepare_cpu.h"
#include "weights/formats/load_weights.h"
#include "weights/formats/npz.h"
#include "weights/formats/pth_writer.h"
#include "weights/maps/key_map.h"

namespace tessera {
namespace {

const std::map<std::string, WeightLayout> kLayouts{
    {"tessera", WeightLayout::kTessera}, {"torchvision", WeightLayout::kTorchvision},
    {"timm", WeightLayout::kTimm},       {"mmseg", WeightLayout::kMmseg},
    {"smp", WeightLayout::kSmp},         {"segmenter", WeightLayout::kSegmenter}};

std::vector<at::Tensor> forward(SegmentationModel& model, const at::Tensor& x) {
  const ModelOutput output = model.forward(x);
  std::vector<at::Tensor> outputs{output.logits()};
  outputs.insert(outputs.end(), output.aux.begin(), output.aux.end());
  return outputs;
}

void run(const nlohmann::json& job) {
  Experiment experiment = load_experiment("", job.at("settings").get<std::vector<std::string>>());
  experiment.model.pretrained = job.at("weights");
  const ModelPtr model = make_model(experiment.model, {3, job.at("classes")}, 1);
  const MatchReport report = load_pretrained(*model, experiment.model);
  for (const auto& one : job.at("exports")) {
    const NamedTensors mapped = to_layout(model_state(*model), kLayouts.at(one.at("layout"))).tensors;
    const std::string file = one.at("file");
    write_file(file, file.ends_with(".pth")   ? encode_pth(mapped)
                     : file.ends_with(".npz") ? encode_npz(mapped)
                                              : encode_safetensors(mapped, {{"format", "pt"}}));
  }

  const at::ScalarType type = job.at("dtype") == "float64" ? at::kDouble : at::kFloat;
  std::map<std::string, at::Tensor> in;
  for (const auto& [name, tensor] : read_weights(job.at("inputs").get<std::string>()).tensors) in[name] = tensor.to(type);
  model->to(type);
  NamedTensors out;
  {
    const at::NoGradGuard no_grad;
    model->eval();
    for (const char* name : {"eval.0", "eval.1"}) out.emplace_back(name, forward(*model, in.at(name))[0]);
  }
  model->train();
  for (const char* name : {"train.0", "train.1", "train.2"}) {
    const std::vector<at::Tensor> outputs = forward(*model, in.at(name));
    if (name != std::string("train.0")) continue;
    at::Tensor loss = at::zeros({}, type);
    for (size_t i = 0; i < outputs.size(); ++i) {
      out.emplace_back(fmt::format("train.0.{}", i), outputs[i]);
      loss = loss + (outputs[i] * in.at(fmt::format("weight.{}", i))).sum();
    }
    loss.backward();
  }
  NamedTensors after;
  for (const auto& item : model->named_parameters()) after.emplace_back(item.key(), item.value().grad());
  for (const auto& item : model->named_buffers()) after.emplace_back(item.key(), item.value());
  for (const auto& one : job.at("exports")) {
    const std::string layout = one.at("layout");
    // mmsegmentation's layout adds the patches' bias to the positions; gradients do not add up that way.
    for (auto& [name, gradient] : after)
      if (layout == "mmseg" && name == "encoder.patch_embed.proj.bias") gradient = at::zeros_like(gradient);
    for (const auto& [name, tensor] : to_layout(after, kLayouts.at(layout)).tensors) {
      out.emplace_back(layout + ":" + name, tensor);
    }
  }
  for (auto& entry : out) entry.second = entry.second.detach().contiguous();
  write_file(job.at("output").get<std::string>(), encode_safetensors(out));
  fmt::print("{}: {}\n", job.at("name").get<std::string>(), report.summary());
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  try {
    tessera::prepare_cpu();
    if (argc != 2) tessera::fail_usage("expected: run_model JOBS.json");
    for (const auto& job : nlohmann::json::parse(tessera::read_text(argv[1]))) tessera::run(job);
  } catch (const std::exception& e) {
    fmt::print(stderr, "run_model: {}\n", e.what());
    return 1;
  }
  return 0;
}
