#include "report/region_files.h"

#include <fmt/format.h>

#include <iterator>

#include "core/components.h"
#include "core/json_text.h"
#include "core/outlines.h"
#include "core/simplify.h"

namespace tessera {
namespace {

using nlohmann::json;

bool is_object(int16_t label, const RegionOptions& options) {
  return !options.background || label != *options.background;
}

// A region's outlines: one for each part whose pixels share edges.
struct Shape {
  Region region;
  std::vector<Outline> parts;
};

std::vector<Shape> shapes_of(const LabelMap& labels, const RegionOptions& options) {
  // The runs are the same whatever connects them, so that a run's place tells which part of which region it is.
  const Components whole = connected_components(labels), parts = connected_components(labels, Connectivity::kFour);
  std::vector<Outline> outlines = trace_outlines(parts);
  std::vector<Shape> shapes;
  for (const Region& region : whole.regions) shapes.push_back({region, {}});
  for (size_t i = 0; i < parts.runs.size(); ++i) {
    Outline& outline = outlines[static_cast<size_t>(parts.runs[i].region)];
    if (outline.outer.empty()) continue;  // taken at the part's first run
    shapes[static_cast<size_t>(whole.runs[i].region)].parts.push_back(simplified(outline, options.simplify));
    outline = {};
  }
  std::erase_if(shapes, [&](const Shape& shape) { return !is_object(shape.region.label, options); });
  return shapes;
}

// A position comes first and last in a ring of GeoJSON.
void add_ring(const Ring& ring, std::string& text) {
  text += '[';
  for (const Corner& corner : ring) fmt::format_to(std::back_inserter(text), "[{},{}],", corner.x, corner.y);
  fmt::format_to(std::back_inserter(text), "[{},{}]]", ring.front().x, ring.front().y);
}

void add_polygon(const Outline& outline, std::string& text) {
  text += '[';
  add_ring(outline.outer, text);
  for (const Ring& hole : outline.holes) {
    text += ',';
    add_ring(hole, text);
  }
  text += ']';
}

void add_geometry(const Shape& shape, std::string& text) {
  const bool several = shape.parts.size() > 1;
  text += several ? R"({"type":"MultiPolygon","coordinates":[)" : R"({"type":"Polygon","coordinates":)";
  for (size_t i = 0; i < shape.parts.size(); ++i) {
    if (i > 0) text += ',';
    add_polygon(shape.parts[i], text);
  }
  text += several ? "]}" : "}";
}

std::vector<int> flat(const Ring& ring) {
  std::vector<int> numbers;
  for (const Corner& corner : ring) numbers.insert(numbers.end(), {corner.x, corner.y});
  return numbers;
}

}  // namespace

json area_json(const std::string& file, const LabelMap& labels, const ClassTable& classes) {
  std::vector<int64_t> pixels(classes.names.size()), objects(classes.names.size());
  for (const Region& region : connected_components(labels).regions) {
    pixels.at(static_cast<size_t>(region.label)) += region.area;
    ++objects.at(static_cast<size_t>(region.label));
  }
  const auto all = static_cast<double>(labels.labels.size());
  json list = json::array();
  for (size_t k = 0; k < pixels.size(); ++k) {
    list.push_back({{"class", k},
                    {"name", classes.names[k]},
                    {"pixels", pixels[k]},
                    {"share", static_cast<double>(pixels[k]) / all},
                    {"objects", objects[k]}});
  }
  return {{"file", file}, {"width", labels.width}, {"height", labels.height}, {"classes", std::move(list)}};
}

// Written as text: a value of the JSON library takes some ten times the memory of its numbers.
std::string geojson_text(const LabelMap& labels, const ClassTable& classes, const RegionOptions& options) {
  std::string text = R"({"type":"FeatureCollection","features":[)";
  int64_t number = 0;
  for (const Shape& shape : shapes_of(labels, options)) {
    const auto k = static_cast<size_t>(shape.region.label);
    text += number == 0 ? "\n" : ",\n";
    fmt::format_to(std::back_inserter(text), R"({{"type":"Feature","id":{},"geometry":)", ++number);
    add_geometry(shape, text);
    const json properties{{"class", k},
                          {"name", classes.names.at(k)},
                          {"pixels", shape.region.area},
                          {"objectType", "annotation"},
                          {"classification", {{"name", classes.names.at(k)}, {"color", classes.palette.at(k)}}}};
    text += ",\"properties\":" + json_text(properties) + "}";
  }
  return text + "\n]}\n";
}

json coco_image(const std::string& file, const LabelMap& labels, const RegionOptions& options) {
  const Components found = connected_components(labels);
  std::vector<std::vector<Run>> runs(found.regions.size());
  for (const Run& run : found.runs) {
    const Region& region = found.regions[static_cast<size_t>(run.region)];
    if (is_object(region.label, options)) runs[static_cast<size_t>(run.region)].push_back(run);
  }
  json annotations = json::array();
  for (size_t i = 0; i < runs.size(); ++i) {
    const Region& region = found.regions[i];
    if (runs[i].empty()) continue;
    json polygons = json::array();
    for (Ring& ring : outlines_without_holes(found.size, std::move(runs[i])))
      polygons.push_back(flat(simplified({std::move(ring), {}}, options.simplify).outer));
    annotations.push_back({{"category_id", region.label},
                           {"segmentation", std::move(polygons)},
                           {"area", region.area},
                           {"bbox", {region.left, region.top, region.right - region.left, region.bottom - region.top}},
                           {"iscrowd", 0}});
  }
  return {{"file_name", file}, {"width", labels.width}, {"height", labels.height}, {"annotations", std::move(annotations)}};
}

json coco_file(const std::vector<json>& images, const ClassTable& classes, const RegionOptions& options) {
  json file{{"images", json::array()}, {"annotations", json::array()}, {"categories", json::array()}};
  for (int16_t k = 0; k < classes.size(); ++k) {
    if (is_object(k, options)) file["categories"].push_back({{"id", k}, {"name", classes.names[static_cast<size_t>(k)]}});
  }
  for (json image : images) {
    json annotations = std::move(image["annotations"]);
    image.erase("annotations");
    image["id"] = file["images"].size() + 1;
    for (json& annotation : annotations) {
      annotation["id"] = file["annotations"].size() + 1;
      annotation["image_id"] = image["id"];
      file["annotations"].push_back(std::move(annotation));
    }
    file["images"].push_back(std::move(image));
  }
  return file;
}

}  // namespace tessera
