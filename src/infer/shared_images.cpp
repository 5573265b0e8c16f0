#include "infer/shared_images.h"

#include <ATen/ATen.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "tensor/too_large.h"

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

bool any_of_ranks(Communicator& ranks, bool own) {
  at::Tensor any = make_with_kept_memory([&] { return at::scalar_tensor(own ? 1 : 0, at::kLong); });
  ranks.max(any);
  return any.item<int64_t>() != 0;
}

// Memory for pixels; not defined where there is none.
at::Tensor room_for(const nlohmann::json& facts) {
  const at::ScalarType type = facts.at("bytes").get<bool>() ? at::kByte : at::kFloat;
  try {
    return make_with_kept_memory([&] { return at::empty(facts.at("size").get<std::vector<int64_t>>(), type); });
  } catch (const std::exception& e) {
    if (why_too_large(e).empty()) throw;
    return {};
  }
}

// Returns the leader's group on all ranks, or where not all have room for it, on the leader.
ImageGroup handed_out(Communicator& ranks, int leader, ImageGroup group, bool& everywhere) {
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
    group.pixels = room_for(facts);
    group.max_value = facts.at("max_value");
    for (const auto& placement : facts.at("placements")) group.placements.push_back(placement_from(placement));
  }
  everywhere = !any_of_ranks(ranks, !group.pixels.defined());
  if (everywhere) {
    ranks.broadcast(group.pixels, leader);
  } else if (!own) {
    group = {};
  }
  return group;
}

}  // namespace

std::optional<SharedImages::Turn> SharedImages::next() {
  if (!counts_.defined()) {
    const at::Tensor own = make_with_kept_memory([&] { return at::scalar_tensor(std::ssize(own_), at::kLong); });
    at::Tensor all = make_with_kept_memory([&] { return at::empty({ranks_.size()}, at::kLong); });
    ranks_.gather_into(all, own);
    counts_ = all;
  }
  while (leader_ < ranks_.size() && number_ == counts_[leader_].item<int64_t>()) {
    ++leader_;
    number_ = 0;
  }
  if (leader_ == ranks_.size()) return std::nullopt;
  const int64_t number = number_++;
  ImageGroup own;
  if (ranks_.rank() == leader_) own = std::move(own_[static_cast<size_t>(number)]);
  bool everywhere = false;
  ImageGroup images = handed_out(ranks_, leader_, std::move(own), everywhere);
  const bool leads_itself = !everywhere && ranks_.rank() == leader_;
  return Turn{std::move(images), leads_itself ? WindowTeam() : WindowTeam(ranks_, leader_), number};
}

}  // namespace tessera
