#include <algorithm>
#include <cstring>
#include <pugixml.hpp>

#include "core/error.h"
#include "data/decode/tiff_layout.h"

namespace tessera {
namespace {

// Elements with any prefix: some writers say <ome:OME>.
std::string_view local_name(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
  return parent.find_child([&](const pugi::xml_node& node) { return local_name(node) == name; });
}

int64_t count_of(const pugi::xml_node& pixels, const char* name) {
  return std::clamp<int64_t>(pixels.attribute(name).as_llong(1), 0, kMaxPlanes + 1);
}

// "XYZCT" without X and Y; "" where it is no order.
std::string plane_order(const pugi::xml_node& pixels) {
  std::string order = pixels.attribute("DimensionOrder").as_string("XYCZT");
  std::erase_if(order, [](char axis) { return axis == 'X' || axis == 'Y'; });
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return sorted == "CTZ" ? order : "";
}

// Steps to the plane that follows in the file's order; false behind the last one.
struct PlaneCursor {
  const StackLayout& layout;
  int c = 0, z = 0, t = 0;

  bool next() {
    for (const char axis : layout.order) {
      int& at = axis == 'C' ? c : axis == 'Z' ? z : t;
      const int size = axis == 'C' ? layout.channels : axis == 'Z' ? layout.z : layout.t;
      if (++at < size) return true;
      at = 0;
    }
    return false;
  }
};

// Whether the element speaks of pixels of this file. What lies in others has the UUID of those.
bool is_here(const pugi::xml_node& tiff_data, std::string_view own_uuid, std::string& elsewhere) {
  const pugi::xml_node uuid = child(tiff_data, "UUID");
  if (!uuid || own_uuid.empty() || own_uuid == uuid.text().as_string()) return true;
  if (elsewhere.empty()) elsewhere = uuid.attribute("FileName").as_string();
  return false;
}

// `budget`: planes that all elements together may still place; a forged file has many that speak of all planes.
void place_planes(const pugi::xml_node& tiff_data, size_t num_directories, int64_t& budget, StackLayout& layout) {
  const bool has_first = tiff_data && !tiff_data.attribute("IFD").empty();
  int64_t directory = tiff_data.attribute("IFD").as_llong(0);
  int64_t left = std::min<int64_t>(tiff_data.attribute("PlaneCount").as_llong(has_first ? 1 : kMaxPlanes), budget);
  PlaneCursor at{layout, tiff_data.attribute("FirstC").as_int(0), tiff_data.attribute("FirstZ").as_int(0),
                 tiff_data.attribute("FirstT").as_int(0)};
  if (at.c < 0 || at.c >= layout.channels || at.z < 0 || at.z >= layout.z || at.t < 0 || at.t >= layout.t) return;
  for (; left > 0 && directory >= 0 && directory < static_cast<int64_t>(num_directories); --left, --budget, ++directory) {
    layout.pages[static_cast<size_t>(at.c + layout.channels * (at.z + layout.z * at.t))] = directory;
    if (!at.next()) return;
  }
}

std::vector<std::string> channel_names(const pugi::xml_node& pixels, int channels) {
  std::vector<std::string> names;
  bool named = false;
  for (const pugi::xml_node& node : pixels.children()) {
    if (local_name(node) != "Channel") continue;
    names.emplace_back(node.attribute("Name").as_string());
    named = named || !names.back().empty();
  }
  return named && names.size() == static_cast<size_t>(channels) ? names : std::vector<std::string>{};
}

}  // namespace

std::optional<StackLayout> ome_layout(std::string_view description, int samples, size_t num_directories) {
  if (description.find("OME") == std::string_view::npos || description.find('<') == std::string_view::npos) return std::nullopt;
  pugi::xml_document document;
  if (!document.load_buffer(description.data(), description.size())) return std::nullopt;
  const pugi::xml_node root = child(document, "OME"), image = child(root, "Image"), pixels = child(image, "Pixels");
  if (!pixels) return std::nullopt;

  StackLayout layout;
  layout.explained = true;
  layout.samples = samples;
  layout.order = plane_order(pixels);
  const int64_t c = count_of(pixels, "SizeC") / samples, z = count_of(pixels, "SizeZ"), t = count_of(pixels, "SizeT");
  if (layout.order.empty() || c < 1 || z < 1 || t < 1 || c * z > kMaxPlanes || c * z * t > kMaxPlanes) return std::nullopt;
  layout.channels = static_cast<int>(c), layout.z = static_cast<int>(z), layout.t = static_cast<int>(t);
  layout.names = channel_names(pixels, layout.channels * samples);
  layout.pages.assign(static_cast<size_t>(c * z * t), -1);
  for (pugi::xml_node next = image.next_sibling(); next; next = next.next_sibling()) {
    layout.has_others = layout.has_others || local_name(next) == "Image";
  }
  const std::string_view uuid = root.attribute("UUID").as_string();
  bool placed = false;
  int64_t budget = kMaxPlanes;
  for (const pugi::xml_node& node : pixels.children()) {
    if (local_name(node) != "TiffData") continue;
    placed = true;
    if (is_here(node, uuid, layout.elsewhere)) place_planes(node, num_directories, budget, layout);
  }
  if (!placed) place_planes({}, num_directories, budget, layout);
  return layout;
}

}  // namespace tessera
