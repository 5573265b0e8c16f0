#include "report/region_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "core/files.h"
#include "core/json_text.h"
#include "core/rng.h"

namespace tessera {
namespace {

using nlohmann::json;

const ClassTable kClasses{{"background", "cell"}, {{0, 0, 0}, {230, 85, 30}}};

// Three objects: a ring with a hole, two pixels that meet at a corner, one pixel.
LabelMap picture() {
  LabelMap map(5, 6);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) map.at(y, x) = 1;
  }
  map.at(1, 1) = 0;
  map.at(1, 4) = map.at(2, 5) = 1;
  map.at(4, 0) = 1;
  return map;
}

TEST(RegionFiles, AreasAndObjectsOfEachClass) {
  const json found = area_json("a.png", picture(), kClasses);
  EXPECT_EQ(found["width"], 6);
  EXPECT_EQ(found["height"], 5);
  EXPECT_EQ(found["classes"][1], (json{{"class", 1}, {"name", "cell"}, {"pixels", 11}, {"share", 11.0 / 30}, {"objects", 3}}));
  // The hole and what is around, which meet nowhere.
  EXPECT_EQ(found["classes"][0]["objects"], 2);
}

TEST(RegionFiles, GeoJsonHasAClosedPolygonWithItsHole) {
  const json found = json::parse(geojson_text(picture(), kClasses, {.background = 0}));
  EXPECT_EQ(found["type"], "FeatureCollection");
  ASSERT_EQ(found["features"].size(), 3U);
  const json& ring = found["features"][0];
  EXPECT_EQ(ring["geometry"], json::parse(R"({"type":"Polygon","coordinates":
      [[[0,0],[3,0],[3,3],[0,3],[0,0]], [[2,1],[1,1],[1,2],[2,2],[2,1]]]})"));
  EXPECT_EQ(ring["properties"]["pixels"], 8);
  EXPECT_EQ(ring["properties"]["classification"], (json{{"name", "cell"}, {"color", {230, 85, 30}}}));
  const json& two = found["features"][1]["geometry"];
  EXPECT_EQ(two["type"], "MultiPolygon");
  EXPECT_EQ(two["coordinates"].size(), 2U);
  EXPECT_EQ(json::parse(geojson_text(picture(), kClasses, {}))["features"].size(), 5U);  // the background's two as well
  EXPECT_EQ(json::parse(geojson_text(LabelMap(3, 3), kClasses, {.background = 0}))["features"], json::array());
}

TEST(RegionFiles, CocoHasPolygonsWithoutHoles) {
  const RegionOptions options{.background = 0};
  const json image = coco_image("a.png", picture(), options);
  const json file = coco_file({image, image}, kClasses, options);
  ASSERT_EQ(file["images"].size(), 2U);
  EXPECT_EQ(file["images"][1], (json{{"file_name", "a.png"}, {"width", 6}, {"height", 5}, {"id", 2}}));
  EXPECT_EQ(file["categories"], json::parse(R"([{"id":1,"name":"cell"}])"));
  ASSERT_EQ(file["annotations"].size(), 6U);
  const json& ring = file["annotations"][3];
  EXPECT_EQ(ring["id"], 4);
  EXPECT_EQ(ring["image_id"], 2);
  EXPECT_EQ(ring["area"], 8);
  EXPECT_EQ(ring["bbox"], (json{0, 0, 3, 3}));
  // Cut below its second row, where the hole then is open.
  EXPECT_EQ(ring["segmentation"], json::parse("[[0,0,3,0,3,2,2,2,2,1,1,1,1,2,0,2],[0,2,3,2,3,3,0,3]]"));
  EXPECT_EQ(file["annotations"][1]["bbox"], (json{4, 1, 2, 2}));
}

// With TESSERA_INTEROP_OUT set, leaves its files there for tests/interop/check_polygons.py, which reads them with shapely,
// scikit-image and pycocotools.
TEST(RegionFiles, OfNoiseAndDiscsAreWrittenForOthers) {
  LabelMap map(48, 64);
  Rng rng(11, Stream::kSynthetic);
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      const bool disc = (y - 24) * (y - 24) + (x - 40) * (x - 40) < 400;
      map.at(y, x) = static_cast<int16_t>(disc ? 1 + static_cast<int>(rng.below(20)) / 19 : static_cast<int>(rng.below(9)) / 7);
    }
  }
  const ClassTable classes{{"background", "a", "b"}, {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}};
  const RegionOptions exact{.background = 0}, simple{.background = 0, .simplify = 1.5};
  const std::string text = geojson_text(map, classes, exact), fewer = geojson_text(map, classes, simple);
  EXPECT_LT(fewer.size(), text.size());
  EXPECT_EQ(json::parse(fewer)["features"].size(), json::parse(text)["features"].size());
  const char* keep = std::getenv("TESSERA_INTEROP_OUT");
  if (keep == nullptr) return;
  const fs::path folder = fs::path(keep) / "polygons";
  make_folders(folder);
  write_file(folder / "labels.json", json_text({{"height", map.height}, {"width", map.width}, {"labels", map.labels}}));
  write_file(folder / "exact.geojson", text);
  write_file(folder / "simplified.geojson", fewer);
  write_file(folder / "coco.json", json_text(coco_file({coco_image("a.png", map, exact)}, classes, exact)));
}

}  // namespace
}  // namespace tessera
