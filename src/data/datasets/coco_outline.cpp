#include "data/datasets/coco_outline.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "data/datasets/polygon.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

void take_runs(OutlineBudget& budget, size_t count) {
  TSR_CHECK(count <= budget.runs,
            "with it the outlines of the image have more than {} runs of pixels; it is damaged, or was made to fill the memory",
            OutlineBudget{}.runs);
  budget.runs -= count;
}

std::vector<PixelRun> polygon_runs(const Json& polygons, Size image, OutlineBudget& budget) {
  TSR_CHECK(!polygons.empty(), "segmentation is an empty list, expected polygons");
  std::vector<PixelRun> runs;
  for (const Json& polygon : polygons) {
    TSR_CHECK(polygon.is_array(), "segmentation holds {}, expected a list of polygons, each a list of numbers",
              polygon.type_name());
    for (const Json& number : polygon)
      TSR_CHECK(number.is_number(), "a polygon holds {}, expected a flat list of numbers: x, y, x, y, ...", number.type_name());
    const std::vector<PixelRun> part = fill_polygon(polygon.get<std::vector<double>>(), image, budget);
    take_runs(budget, part.size());
    runs.insert(runs.end(), part.begin(), part.end());
  }
  return runs;
}

std::vector<PixelRun> rle_runs(const Json& rle, Size image) {
  TSR_CHECK(rle.contains("counts") && rle.contains("size"), "RLE segmentation lacks 'counts' or 'size'");
  // 64 bits: a size that wraps around would fit the image by chance.
  const auto size = rle.at("size").get<std::vector<int64_t>>();
  TSR_CHECK(size.size() == 2 && size[0] == image.height && size[1] == image.width,
            "RLE segmentation has the size [{}], its image is [{}, {}]", fmt::join(size, ", "), image.height, image.width);
  const Json& counts = rle.at("counts");
  if (counts.is_string()) return runs_from_lengths(parse_rle_string(counts.get_ref<const std::string&>()), image);
  return runs_from_lengths(counts.get<std::vector<int64_t>>(), image);
}

}  // namespace

std::vector<PixelRun> outline_runs(std::string_view json, Size image, OutlineBudget& budget) {
  try {
    const Json value = Json::parse(json);
    if (value.is_array()) return polygon_runs(value, image, budget);
    std::vector<PixelRun> runs = rle_runs(value, image);
    take_runs(budget, runs.size());
    return runs;
  } catch (const Json::exception& error) {
    fail("segmentation cannot be read: {}", error.what());
  }
}

}  // namespace tessera
