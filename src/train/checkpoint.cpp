#include "train/checkpoint.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"

namespace tessera {
namespace {

using nlohmann::json;

std::string hash_of(std::span<const uint8_t> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

json state_json(const TrainState& s, const ClassTable& classes, const SampleNames& samples) {
  json j = to_json(s);
  j["samples"] = to_json(samples);
  j["format"] = 1;
  j["classes"] = {{"names", classes.names}, {"palette", classes.palette}};
  return j;
}

}  // namespace

json to_json(const TrainState& s) {
  return {{"step", s.step},
          {"evaluated_step", s.evaluated_step},
          {"best_step", s.best_step},
          {"best_value", s.best_value},
          {"evals_since_best", s.evals_since_best},
          {"loss_scale", s.loss_scale},
          {"loss_scale_good_steps", s.loss_scale_good_steps},
          {"optimizer_steps", s.optimizer_steps},
          {"skipped_steps", s.skipped_steps},
          {"seconds", s.seconds}};
}

TrainState state_from_json(const json& j) {
  TrainState s;
  s.step = j.at("step");
  s.evaluated_step = j.at("evaluated_step");
  s.best_step = j.at("best_step");
  s.best_value = j.at("best_value");
  s.evals_since_best = j.at("evals_since_best");
  s.loss_scale = j.at("loss_scale");
  s.loss_scale_good_steps = j.at("loss_scale_good_steps");
  s.optimizer_steps = j.at("optimizer_steps");
  s.skipped_steps = j.value("skipped_steps", int64_t{0});  // older checkpoints do not know it
  s.seconds = j.at("seconds");
  return s;
}

std::string checkpoint_name(int64_t step) {
  return fmt::format("step-{:08}", step);
}

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  const fs::path draft = folder.parent_path() / (".writing-" + folder.filename().string());
  std::error_code ignored;
  fs::remove_all(draft, ignored);
  try {
    fs::create_directory(draft);
    json files;
    const auto put = [&](const std::string& name, std::span<const uint8_t> bytes) {
      write_file(draft / name, bytes);
      files[name] = {{"bytes", bytes.size()}, {"xxh3", hash_of(bytes)}};
    };
    const auto put_text = [&](const std::string& name, const std::string& text) {
      put(name, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    };
    put("model.safetensors", encode_safetensors(checkpoint.model, {{"format", "pt"}}));
    put("optimizer.safetensors", encode_safetensors(checkpoint.optimizer));
    if (!checkpoint.average.empty()) put("ema.safetensors", encode_safetensors(checkpoint.average, {{"format", "pt"}}));
    put_text("state.json", json_text(state_json(checkpoint.state, checkpoint.classes, checkpoint.samples), 2));
    put_text("config.yaml", checkpoint.config_yaml);
    write_file(draft / "DONE", json_text({{"files", files}}, 2));
    sync_path(draft);
    fs::remove_all(folder);
    fs::rename(draft, folder);
    sync_path(folder.parent_path());
  } catch (const std::exception& e) {
    fs::remove_all(draft, ignored);
    fail("checkpoint {} was not saved: {}", folder.string(), e.what());
  }
}

bool is_complete_checkpoint(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "DONE", error);
}

Checkpoint read_checkpoint(const fs::path& folder, bool with_optimizer) {
  TSR_CHECK(is_complete_checkpoint(folder), "{} is not a complete checkpoint: it has no DONE file", folder.string());
  Checkpoint result;
  try {
    const json files = json::parse(read_text(folder / "DONE")).at("files");
    const auto get = [&](const std::string& name) {
      std::vector<uint8_t> bytes = read_bytes(folder / name);
      const json& entry = files.at(name);
      TSR_CHECK(bytes.size() == entry.at("bytes") && hash_of(bytes) == entry.at("xxh3"),
                "{} is damaged: its content does not match the hash recorded when it was saved; use another checkpoint",
                (folder / name).string());
      return bytes;
    };
    result.model = parse_safetensors(get("model.safetensors"), (folder / "model.safetensors").string()).tensors;
    if (with_optimizer)
      result.optimizer = parse_safetensors(get("optimizer.safetensors"), (folder / "optimizer.safetensors").string()).tensors;
    if (files.contains("ema.safetensors"))
      result.average = parse_safetensors(get("ema.safetensors"), (folder / "ema.safetensors").string()).tensors;
    const json state = json::parse(get("state.json"));
    result.state = state_from_json(state);
    result.classes = {state.at("classes").at("names"), state.at("classes").at("palette")};
    if (state.contains("samples")) result.samples = sample_names_from_json(state.at("samples"));  // older ones do not know it
    const auto config = get("config.yaml");
    result.config_yaml.assign(config.begin(), config.end());
  } catch (const json::exception& e) {
    fail("{} is damaged: {}", folder.string(), e.what());
  }
  return result;
}

}  // namespace tessera
