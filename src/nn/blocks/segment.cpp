#include "nn/blocks/segment.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/error.h"
#include "core/module_path.h"
#include "tensor/profiled_part.h"

namespace tessera {
namespace {

bool owns(const Segment& segment, const std::string& path) {
  return std::any_of(segment.parts.begin(), segment.parts.end(),
                     [&](const std::string& part) { return is_part_of(path, part); });
}

Segment& owner_of(std::vector<Segment>& segments, const std::string& path) {
  Segment* owner = nullptr;
  for (Segment& segment : segments) {
    if (!owns(segment, path)) continue;
    TSR_CHECK(owner == nullptr, "'{}' belongs to the segments '{}' and '{}'; it must belong to one", path, owner->name,
              segment.name);
    owner = &segment;
  }
  TSR_CHECK(owner != nullptr, "'{}' belongs to no segment; name its module among the parts of the one that uses it", path);
  return *owner;
}

}  // namespace

Tensors Segment::run(Tensors state) const {
  TSR_CHECK(carried <= state.size(), "segment '{}' expects {} tensors that pass by, the state has {}", name, carried,
            state.size());
  const auto own = state.begin() + static_cast<int64_t>(carried);
  const ProfiledPart part("forward " + name);
  const Tensors inputs(std::make_move_iterator(own), std::make_move_iterator(state.end()));
  state.erase(own, state.end());
  // A segment that is not bound does not know its parameters, which a checkpoint must.
  Tensors outputs = checkpoint && !parameters.empty() ? checkpointed(parameters, buffers, inputs, compute) : compute(inputs);
  state.insert(state.end(), std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end()));
  return state;
}

Tensors run_segments(std::span<const Segment> segments, Tensors state) {
  for (const Segment& segment : segments) state = segment.run(std::move(state));
  return state;
}

void bind_segments(std::vector<Segment>& segments, const torch::nn::Module& model) {
  std::set<std::string> names;
  for (const Segment& segment : segments) {
    TSR_CHECK(names.insert(segment.name).second, "two segments are called '{}'", segment.name);
  }
  for (const auto& item : model.named_modules("", /*include_self=*/false)) {
    for (const Segment& segment : segments) {
      const bool is_its_only_part = segment.parts == std::vector<std::string>{segment.name};
      TSR_CHECK(item.key() != segment.name || is_its_only_part, "segment '{}' has the name of a module that is only part of it",
                segment.name);
    }
  }
  for (const auto& item : model.named_parameters()) owner_of(segments, item.key()).parameters.push_back(item.value());
  for (const auto& item : model.named_buffers()) owner_of(segments, item.key()).buffers.push_back(item.value());
}

at::Tensor size_tensor(const at::Tensor& images) {
  return images.new_empty({0, 1, images.size(2), images.size(3)});
}

}  // namespace tessera
