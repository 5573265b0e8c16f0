#include "infer/shared_images.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace tessera {
namespace {

nlohmann::json to_json(const std::optional<Placement>& placement) {
  if (!placement) return nullptr;
  const Placement& p = *placement;
  return {p.original.height, p.original.width, p.y, p.x, p.height, p.width, p.flipped, p.complete};
}

std::optional<Placement> placement_from(const nlohmann::json& j) {
  if (j.is_null()) return std::nullopt;
  return Placement{{j.at(0), j.at(1)}, j.at(2), j.at(3), j.at(4), j.at(5), j.at(6), j.at(7)};
}

// The leader's group, on all ranks.
ImageGroup handed_out(Communicator& ranks, int leader, ImageGroup group) {
  nlohmann::json facts;
  const bool own = ranks.rank() == leader;
  if (own) {
    facts = {{"size", group.pixels.sizes().vec()},
             {"bytes", group.pixels.scalar_type() == at::kByte},
             {"max_value", group.max_value},
             {"placements", nlohmann::json::array()}};
    for (const auto& placement : group.placements) facts["placements"].push_back(to_json(placement));
  }
  facts = nlohmann::json::parse(ranks.gather_text(json_text(facts)).at(static_cast<size_t>(leader)));
  if (!own) {
    const at::ScalarType type = facts.at("bytes").get<bool>() ? at::kByte : at::kFloat;
    group.pixels = at::empty(facts.at("size").get<std::vector<int64_t>>(), type);
    group.max_value = facts.at("max_value");
    for (const auto& placement : facts.at("placements")) group.placements.push_back(placement_from(placement));
  }
  ranks.broadcast(group.pixels, leader);
  return group;
}

}  // namespace

std::vector<const Placement*> ImageGroup::placement_pointers() const {
  std::vector<const Placement*> pointers;
  for (const auto& placement : placements) pointers.push_back(placement ? &*placement : nullptr);
  return pointers;
}

void compute_together(Communicator& ranks, int64_t count, const std::function<ImageGroup(int64_t)>& group,
                      const std::function<void(int64_t, const ImageGroup&, const WindowTeam&)>& compute) {
  const at::Tensor counts = ranks.gather(at::scalar_tensor(count, at::kLong));
  for (int leader = 0; leader < ranks.size(); ++leader) {
    for (int64_t i = 0; i < counts[leader].item<int64_t>(); ++i) {
      const bool own = ranks.rank() == leader;
      compute(i, handed_out(ranks, leader, own ? group(i) : ImageGroup{}), WindowTeam(ranks, leader));
    }
  }
}

}  // namespace tessera
