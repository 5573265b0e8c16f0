"""What report_test left: our polygons, read by shapely (valid, counter-clockwise, same area), filled again by scikit-image and pycocotools: the very
pixels. Simplified ones must be valid and stay near."""
import json
import pathlib
import sys

import numpy as np
from pycocotools import mask as coco
from shapely.geometry import shape
from skimage.draw import polygon2mask
from skimage.measure import label


def check(condition, message):
    if not condition:
        raise SystemExit(f"FAILED: {message}")


def filled(ring, size):
    """Pixels whose centres lie inside: scikit-image has them at whole numbers, we half a pixel off."""
    return polygon2mask(size, np.array([(y - 0.5, x - 0.5) for x, y in ring]))


def main(folder):
    folder = pathlib.Path(folder)
    case = json.loads((folder / "labels.json").read_text())
    labels = np.array(case["labels"]).reshape(case["height"], case["width"])
    exact = json.loads((folder / "exact.geojson").read_text())["features"]
    again = np.zeros_like(labels)
    for feature in exact:
        polygon = shape(feature["geometry"])
        check(polygon.is_valid, f"feature {feature['id']} is not valid")
        check(polygon.area == feature["properties"]["pixels"], f"feature {feature['id']} has another area")
        for part in getattr(polygon, "geoms", [polygon]):
            check(part.exterior.is_ccw and not any(hole.is_ccw for hole in part.interiors), f"feature {feature['id']} runs the wrong way")
            inside = filled(part.exterior.coords, labels.shape)
            for hole in part.interiors:
                inside &= ~filled(hole.coords, labels.shape)
            check((again[inside] == 0).all(), "polygons overlap")
            again[inside] = feature["properties"]["class"]
    check((again == labels).all(), "polygons filled again are not the labels")
    check(len(exact) == sum(label(labels == k, connectivity=2).max() for k in range(1, labels.max() + 1)), "another number of objects")

    simple = json.loads((folder / "simplified.geojson").read_text())["features"]
    corners = [sum(str(f["geometry"]["coordinates"]).count(",") for f in features) for features in (exact, simple)]
    check(len(simple) == len(exact) and corners[1] < corners[0], f"simplified: {corners}")
    for feature in simple:
        check(shape(feature["geometry"]).is_valid, f"simplified feature {feature['id']} is not valid")

    annotations = json.loads((folder / "coco.json").read_text())
    again = np.zeros_like(labels)
    for annotation in annotations["annotations"]:
        mask = coco.decode(coco.merge(coco.frPyObjects(annotation["segmentation"], *labels.shape))).astype(bool)
        check(mask.sum() == annotation["area"], f"annotation {annotation['id']} covers {mask.sum()} pixels, not {annotation['area']}")
        rows, columns = np.nonzero(mask)
        box = [columns.min(), rows.min(), columns.max() - columns.min() + 1, rows.max() - rows.min() + 1]
        check(box == annotation["bbox"], f"annotation {annotation['id']} has the box {annotation['bbox']}, not {box}")
        check((again[mask] == 0).all(), "annotations overlap")
        again[mask] = annotation["category_id"]
    check((again == labels).all(), "annotations filled again are not the labels")
    print(f"{len(exact)} polygons of {labels.size} pixels: the same pixels in shapely, scikit-image and pycocotools; {corners[0]} numbers, simplified {corners[1]}")


if __name__ == "__main__":
    main(sys.argv[1])
