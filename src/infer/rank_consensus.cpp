#include "infer/rank_consensus.h"

#include <torch/types.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "core/json_text.h"
#include "infer/image_scores.h"
#include "metric/multi_label_counts.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

// Counts are structs of int64, which are summed as one list of them.
template <class Counts>
void sum_over_ranks(World& world, std::vector<Counts>& counts) {
  static_assert(std::is_trivially_copyable_v<Counts> && sizeof(Counts) % sizeof(int64_t) == 0);
  if (counts.empty()) return;
  world.control.sum(
      at::from_blob(counts.data(), {static_cast<int64_t>(counts.size() * sizeof(Counts) / sizeof(int64_t))}, at::kLong));
}

}  // namespace

int max_over_ranks(World& world, int own) {
  if (world.alone()) return own;
  at::Tensor largest = make_with_kept_memory([&] { return at::scalar_tensor(own, at::kLong); });
  world.control.max(largest);
  return static_cast<int>(largest.item<int64_t>());
}

TrainState state_of_first(World& world, const TrainState& state) {
  if (world.alone()) return state;
  return state_from_json(nlohmann::json::parse(world.control.gather_text(json_text(to_json(state))).front()));
}

std::vector<BadSampleRecord> all_bad_samples(World& world, const std::vector<BadSampleRecord>& own) {
  if (world.alone()) return own;
  nlohmann::json texts = nlohmann::json::array();
  for (const BadSampleRecord& r : own) texts.push_back({r.index, r.id, r.reason, r.replaced_by});
  std::vector<BadSampleRecord> all;
  for (const std::string& text : world.control.gather_text(json_text(texts))) {
    for (const auto& r : nlohmann::json::parse(text)) all.push_back({r.at(0), r.at(1), r.at(2), r.at(3)});
  }
  return all;
}

EvalResult merged(World& world, EvalResult part, int num_classes) {
  if (world.alone()) return part;
  at::Tensor images = make_with_kept_memory([&] { return at::tensor({part.num_images, part.num_bad}, at::kLong); });
  world.control.sum(images);

  nlohmann::json scores = nlohmann::json::array();
  for (const ImageScore& score : part.images) scores.push_back(to_json(score));
  EvalResult whole;
  for (const std::string& text : world.control.gather_text(json_text(scores))) {
    for (const auto& score : nlohmann::json::parse(text)) whole.images.push_back(image_score_from_json(score));
  }
  std::sort(whole.images.begin(), whole.images.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (const std::string& windows : world.control.gather_text(part.windows_for_memory)) {
    if (whole.windows_for_memory.empty()) whole.windows_for_memory = windows;
  }
  whole.confusion = std::move(part.confusion);
  whole.overlapping = std::move(part.overlapping);
  sum_over_ranks(world, whole.confusion);
  sum_over_ranks(world, whole.overlapping);
  whole.report =
      whole.overlapping.empty() ? make_iou_report(whole.confusion, num_classes) : make_multi_label_report(whole.overlapping);
  whole.boundaries = std::move(part.boundaries);
  whole.objects = std::move(part.objects);
  whole.object_classes = std::move(part.object_classes);
  sum_over_ranks(world, whole.boundaries);
  sum_over_ranks(world, whole.objects);
  whole.num_images = images[0].item<int64_t>();
  whole.num_bad = images[1].item<int64_t>();
  whole.seconds = part.seconds;
  return whole;
}

}  // namespace tessera
