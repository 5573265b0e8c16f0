#include "infer/checkpoint/checkpoint.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/new_file.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

using nlohmann::json;

constexpr const char* kEvaluated = "evaluated.json";
const std::string kDraft = ".writing-";

std::string hash_of(std::span<const uint8_t> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

std::string hash_of_json(const json& value) {
  const std::string text = json_text(value);
  return hash_of(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

// Returns nothing where the step was not evaluated, or that was not written whole: it is evaluated again then.
std::optional<TrainState> read_evaluated(const fs::path& folder, int64_t step) {
  std::error_code error;
  if (!fs::exists(folder / kEvaluated, error)) return std::nullopt;
  try {
    const json all = json::parse(read_text(folder / kEvaluated));
    if (all.at("xxh3") != hash_of_json(all.at("state"))) return std::nullopt;
    TrainState state = state_from_json(all.at("state"));
    return state.step == step ? std::optional(state) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

Compression compression_named(const std::string& name) {
  const auto& names = EnumNames<Compression>::names;
  const auto found = std::find(names.begin(), names.end(), name);
  TSR_CHECK(found != names.end(), "no compression '{}'", name);
  return static_cast<Compression>(found - names.begin());
}

// What the disk or a user did to a checkpoint's place, in our words.
void check_file(const std::error_code& error, const char* what, const fs::path& path) {
  TSR_CHECK(!error, "cannot {} {}: {}", what, path.string(), error.message());
}

json state_json(const Checkpoint& checkpoint) {
  const ClassTable& classes = checkpoint.classes;
  json j = to_json(checkpoint.state);
  j["samples"] = checkpoint.samples;
  if (checkpoint.images.known()) j["images"] = checkpoint.images;
  j["format"] = 1;
  j["classes"] = {{"names", classes.names}, {"palette", classes.palette}};
  if (classes.multi_label) j["classes"]["multi_label"] = true;
  return j;
}

}  // namespace

void TrainState::note_metric(double value) {
  evaluated_step = step;
  if (std::isnan(value) || (best_value && value <= *best_value)) {
    ++evals_since_best;
    return;
  }
  best_value = value;
  best_step = step;
  evals_since_best = 0;
}

// What every checkpoint has; what has a history is read and written below.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainState, step, evaluated_step, best_step, evals_since_best, loss_scale,
                                   loss_scale_good_steps, optimizer_steps, seconds)

json to_json(const TrainState& s) {
  json j = s;
  j["best_value"] = s.best_value.value_or(-1);
  j["skipped_steps"] = s.skipped_steps;
  if (!s.lost_steps.empty()) j["lost_steps"] = s.lost_steps;
  if (s.exchange) {
    j["exchange"] = {{"bucket_mb", s.exchange->bucket_mb}, {"compression", name_of(s.exchange->compression)}};
  }
  return j;
}

TrainState state_from_json(const json& j) {
  TrainState s = j;
  if (s.best_step >= 0) s.best_value = j.at("best_value");  // else it is -1 in the file
  s.skipped_steps = j.value("skipped_steps", int64_t{0});   // older checkpoints do not know it
  s.lost_steps = j.value("lost_steps", std::vector<int64_t>());
  if (j.contains("exchange")) {
    const json& chosen = j.at("exchange");
    s.exchange = {chosen.at("bucket_mb"), compression_named(chosen.at("compression"))};
  }
  return s;
}

std::string checkpoint_name(int64_t step) {
  return fmt::format("step-{:08}", step);
}

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint, Access access) {
  const fs::path checkpoints = folder.parent_path();
  fs::path draft;
  try {
    make_folders(checkpoints.parent_path(), access);
    make_folders(checkpoints, access);
    draft = make_new_folder(checkpoints, kDraft + folder.filename().string() + "-", access);
    json files;
    const auto put = [&](const std::string& name, std::span<const uint8_t> bytes) {
      write_file(draft / name, bytes, access);
      files[name] = {{"bytes", bytes.size()}, {"xxh3", hash_of(bytes)}};
    };
    const auto put_text = [&](const std::string& name, const std::string& text) {
      put(name, std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
    };
    put("model.safetensors", encode_safetensors(checkpoint.model, {{"format", "pt"}}));
    put("optimizer.safetensors", encode_safetensors(checkpoint.optimizer));
    if (!checkpoint.average.empty()) put("ema.safetensors", encode_safetensors(checkpoint.average, {{"format", "pt"}}));
    put_text("state.json", json_text(state_json(checkpoint), 2));
    put_text("config.yaml", checkpoint.config_yaml);
    write_file(draft / "DONE", json_text({{"files", files}}, 2), access);
    sync_path(draft);
    std::error_code error;
    fs::remove_all(folder, error);
    check_file(error, "replace", folder);
    fs::rename(draft, folder, error);
    check_file(error, "move what was written to", folder);
    sync_path(checkpoints);
  } catch (const std::exception& e) {
    std::error_code ignored;
    if (!draft.empty()) fs::remove_all(draft, ignored);
    fail("checkpoint {} was not saved: {}", folder.string(), error_text(e));
  }
}

void remove_checkpoint_drafts(const fs::path& checkpoints) {
  remove_leftovers(checkpoints);
  std::error_code error, ignored;
  std::vector<fs::path> drafts;
  for (fs::directory_iterator entry(checkpoints, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->is_directory(ignored) || entry->is_symlink(ignored)) continue;
    if (entry->path().filename().string().starts_with(kDraft)) {
      drafts.push_back(entry->path());
    } else {
      remove_leftovers(entry->path());  // of evaluated.json
    }
  }
  for (const fs::path& draft : drafts) fs::remove_all(draft, ignored);
}

void write_evaluated(const fs::path& folder, const TrainState& state, Access access) {
  TSR_CHECK(is_complete_checkpoint(folder), "checkpoint {} is gone", folder.string());
  const json all{{"state", to_json(state)}, {"xxh3", hash_of_json(to_json(state))}};
  write_file(folder / kEvaluated, json_text(all, 2), access);
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
      TSR_CHECK(bytes.size() == entry.at("bytes") && hash_of(bytes) == entry.at("xxh3").get<std::string>(),
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
    if (const auto evaluated = read_evaluated(folder, result.state.step)) result.state = *evaluated;
    const json& classes = state.at("classes");
    result.classes = {classes.at("names"), classes.at("palette"), classes.value("multi_label", false)};
    if (state.contains("samples")) result.samples = state.at("samples");  // older ones do not know it
    if (state.contains("images")) result.images = state.at("images");
    const auto config = get("config.yaml");
    result.config_yaml.assign(config.begin(), config.end());
  } catch (const json::exception& e) {
    fail("{} is damaged: {}", folder.string(), e.what());
  }
  return result;
}

}  // namespace tessera
