#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/image.h"

namespace tessera {

// What is found in an image, for other programs to read. Regions are connected over edges and corners, as by scikit-image's
// label(); their outlines are exact (Note [Exact outlines]) unless simplified.
struct RegionOptions {
  std::optional<int16_t> background;  // a class that is no object: it has no polygons
  double simplify = 0;                // pixels, see simplified()
};

// {"file", "width", "height", "classes": [{"class", "name", "pixels", "share", "objects"}, ...]}: all classes, also absent
// ones.
nlohmann::json area_json(const std::string& file, const LabelMap& labels, const ClassTable& classes);

// A GeoJSON FeatureCollection (RFC 7946, but in pixels: x to the right, y down, (0, 0) the image's upper left corner). A
// feature is a region: a Polygon with its holes, or a MultiPolygon where parts of it meet at corners only. Its properties name
// the class and the area, also the way QuPath reads them.
std::string geojson_text(const LabelMap& labels, const ClassTable& classes, const RegionOptions& options);

// COCO's form: polygons as lists of x, y; area in pixels; bbox [x, y, width, height]. It knows no holes, so a region with holes
// is cut into several polygons that lie side by side. Category ids are class numbers. All images are in one file: coco_image is
// what an image adds to it, and coco_file numbers images and annotations from 1 on, in order.
nlohmann::json coco_image(const std::string& file, const LabelMap& labels, const RegionOptions& options);
nlohmann::json coco_file(const std::vector<nlohmann::json>& images, const ClassTable& classes, const RegionOptions& options);

}  // namespace tessera
