#include "data/decode/tiff_planes.h"

#include <array>

#include "core/error.h"

namespace tessera {
namespace {

// The planes of one axis in the groups that become one.
std::vector<std::vector<int>> groups_of(const PlaneChoice& choice, int count, std::string_view axis) {
  const std::vector<int> planes = chosen_planes(choice, count, axis);
  if (choice.kind == PlaneChoice::Kind::kMax) return {planes};
  std::vector<std::vector<int>> single;
  for (const int plane : planes) single.push_back({plane});
  return single;
}

}  // namespace

std::vector<TakenPlane> take_planes(const StackLayout& layout, const StackChoice& choice, const std::vector<int>& channels) {
  const auto zs = groups_of(choice.z, layout.z, "z"), ts = groups_of(choice.t, layout.t, "t");
  const size_t num_channels = channels.empty() ? static_cast<size_t>(layout.channels) : channels.size();
  const auto axis_size = [&](char axis) { return axis == 'C' ? num_channels : axis == 'Z' ? zs.size() : ts.size(); };
  const size_t count = num_channels * zs.size() * ts.size();
  TSR_CHECK(count <= kMaxChannels,
            "TIFF gives {} channels: expected up to {}; choose some with data.image.channels, z or t, or split the file", count,
            kMaxChannels);
  std::vector<TakenPlane> taken;
  for (size_t i = 0; i < count; ++i) {
    std::array<size_t, 128> at{};
    size_t rest = i;
    for (const char axis : layout.order) at[static_cast<size_t>(axis)] = rest % axis_size(axis), rest /= axis_size(axis);
    const int channel = channels.empty() ? static_cast<int>(at['C']) * layout.samples : channels[at['C']];
    TakenPlane plane{{}, channels.empty() || layout.samples == 1 ? -1 : channel % layout.samples};
    for (const int t : ts[at['T']]) {
      for (const int z : zs[at['Z']]) plane.pages.push_back(layout.page(channel / layout.samples, z, t));
    }
    taken.push_back(std::move(plane));
  }
  return taken;
}

StackShape taken_shape(const StackLayout& layout, const StackChoice& choice, const std::vector<int>& channels,
                       const std::vector<std::string>& names) {
  StackShape shape;
  shape.channels = channels.empty() ? layout.channels * layout.samples : static_cast<int>(channels.size());
  shape.z = static_cast<int>(groups_of(choice.z, layout.z, "z").size());
  shape.t = static_cast<int>(groups_of(choice.t, layout.t, "t").size());
  if (channels.empty() || names.empty()) {
    shape.names = names;
  } else {
    for (const int channel : channels) shape.names.push_back(names.at(static_cast<size_t>(channel)));
  }
  return shape;
}

}  // namespace tessera
