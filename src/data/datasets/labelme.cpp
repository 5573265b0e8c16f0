#include "data/datasets/labelme.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/printable.h"
#include "core/suggest.h"
#include "data/datasets/drawn_shapes.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

// How often the shapes of an image may paint each of its pixels, on average; small images may have many that overlap.
constexpr int64_t kMaxLayers = 64, kUsualPixels = int64_t{1} << 20;
constexpr std::string_view kIgnore = "__ignore__";
constexpr int kLineWidth = 10, kPointRadius = 5;  // as labelme's own tools draw what has no area

std::string text_of(const Json& shape, const char* key) {
  const auto found = shape.find(key);
  TSR_CHECK(found != shape.end() && found->is_string(), "it has no text '{}'", key);
  return found->get<std::string>();
}

std::vector<ShapePoint> points_of(const Json& shape) {
  const auto list = shape.find("points");
  TSR_CHECK(list != shape.end() && list->is_array(), "it has no list 'points'");
  std::vector<ShapePoint> points;
  for (const Json& point : *list) {
    TSR_CHECK(point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number(),
              "one of its points is no pair of numbers");
    points.push_back({point[0].get<double>(), point[1].get<double>()});
  }
  return points;
}

// Files of old versions have no shape_type, and polygons only.
std::vector<RowRun> runs_of(const Json& shape, Size size, ShapeBudget& budget) {
  const auto given = shape.find("shape_type");
  const bool told = given != shape.end() && !given->is_null();
  const std::string type = told ? text_of(shape, "shape_type") : "polygon";
  const std::vector<ShapePoint> points = points_of(shape);
  if (type == "polygon") return drawn_polygon(points, size, budget);
  if (type == "linestrip") return drawn_lines(points, kLineWidth, size, budget);
  const size_t expected = type == "point" ? 1 : 2;
  const bool known = type == "rectangle" || type == "circle" || type == "line" || type == "point";
  TSR_CHECK(known, "it is a '{}'; polygons, rectangles, circles, lines and points are drawn", printable(type));
  TSR_CHECK(points.size() == expected, "a {} has {} points, expected {}", type, points.size(), expected);
  if (type == "line") return drawn_lines(points, kLineWidth, size, budget);
  if (type == "point") {
    const auto [x, y] = points[0];
    return drawn_ellipse({x - kPointRadius, y - kPointRadius}, {x + kPointRadius, y + kPointRadius}, size);
  }
  if (type == "rectangle") return drawn_rectangle(points[0], points[1], size);
  const ShapePoint &centre = points[0], &rim = points[1];
  const double dx = centre.x - rim.x, dy = centre.y - rim.y, radius = std::sqrt(dx * dx + dy * dy);
  return drawn_ellipse({centre.x - radius, centre.y - radius}, {centre.x + radius, centre.y + radius}, size);
}

int16_t class_of(const std::string& label, const std::vector<std::string>& classes, bool binary) {
  if (label == kIgnore) return kIgnoreLabel;
  if (binary) return 1;
  const auto found = std::find(classes.begin(), classes.end(), label);
  TSR_CHECK(found != classes.end(), "its label '{}' is none of data.classes{}", printable(label), did_you_mean(label, classes));
  return static_cast<int16_t>(found - classes.begin());
}

}  // namespace

bool looks_like_labelme(std::string_view start) {
  const size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{' && start.find("\"shapes\"") != std::string_view::npos;
}

std::set<std::string> labelme_names(std::span<const uint8_t> json) {
  std::set<std::string> names;
  const Json file = Json::parse(json.begin(), json.end(), nullptr, false);
  if (!file.is_object() || !file.contains("shapes")) return names;
  for (const Json& shape : file["shapes"]) {
    const auto label = shape.is_object() ? shape.find("label") : shape.end();
    if (label != shape.end() && label->is_string() && *label != kIgnore) names.insert(label->get<std::string>());
  }
  return names;
}

LabelMap labelme_labels(std::span<const uint8_t> json, Size size, const std::vector<std::string>& classes,
                        const LabelConfig& rules) {
  LabelConfig binary;
  binary.binary = true;
  TSR_CHECK(
      rules == LabelConfig{} || rules == binary,
      "data.labels has no effect for labelme's files beside binary: their labels are the names in data.classes; remove it");
  const Json file = Json::parse(json.begin(), json.end(), nullptr, false);
  TSR_CHECK(file.is_object(), "it is not valid JSON; damaged or cut off?");
  const auto shapes = file.find("shapes");
  TSR_CHECK(shapes != file.end() && shapes->is_array(), "it has no list 'shapes'; expected a file of labelme");
  LabelMap labels(size.height, size.width, 0);
  ShapeBudget budget;
  int64_t unpainted = kMaxLayers * std::max(int64_t{size.height} * size.width, kUsualPixels);
  for (size_t i = 0; i < shapes->size(); ++i) {
    const Json& shape = (*shapes)[i];
    try {
      TSR_CHECK(shape.is_object(), "it is no object");
      const int16_t label = class_of(text_of(shape, "label"), classes, rules.binary);
      for (const RowRun& run : runs_of(shape, size, budget)) {
        unpainted -= run.end - run.begin;
        TSR_CHECK(unpainted >= 0, "with it the shapes cover the image more than {} times; they were made to be slow",
                  kMaxLayers);
        std::fill(&labels.at(run.y, run.begin), &labels.at(run.y, run.begin) + (run.end - run.begin), label);
      }
    } catch (const Error& error) {
      fail("shape {}: {}", i, error.what());
    }
  }
  return labels;
}

}  // namespace tessera
