#include "report/region_files.h"

#include <gtest/gtest.h>

#include "core/json_text.h"

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

}  // namespace
}  // namespace tessera
