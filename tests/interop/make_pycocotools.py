"""What pycocotools makes of polygons and run lengths: the masks our own rasteriser must equal bit for bit.

Masks are kept as run lengths (column by column, beginning with unset pixels). Coordinates come from integer formulas.
"""
import json
import math
import pathlib
import sys

import numpy as np
from pycocotools import mask as coco


def lengths(bitmap):
    flat = bitmap.flatten(order="F")
    result, last, count = [], 0, 0
    for value in flat.tolist():
        if value != last:
            result.append(count)
            last, count = value, 0
        count += 1
    return result + [count]


def rasterise(polygons, h, w):
    return coco.decode(coco.merge(coco.frPyObjects(polygons, h, w)))


def scattered(seed, points, low, high):
    """Pseudo-random corners in hundredths, as COCO stores them."""
    values, state = [], seed
    for _ in range(2 * points):
        state = (state * 1103515245 + 12345) % 2**31
        values.append(round(low + (high - low) * (state >> 8) / 2**23, 2))
    return values


def wheel(cx, cy, radii, corners):
    result = []
    for k in range(corners):
        r = radii[k % len(radii)]
        result += [round(cx + r * math.cos(2 * math.pi * k / corners), 2), round(cy + r * math.sin(2 * math.pi * k / corners), 2)]
    return result


def polygon_cases():
    yield "square", 8, 8, [[2, 2, 6, 2, 6, 6, 2, 6]]
    yield "clockwise square", 8, 8, [[2, 2, 2, 6, 6, 6, 6, 2]]
    yield "half pixels", 8, 8, [[1.5, 1.5, 5.5, 1.5, 5.5, 4.5, 1.5, 4.5]]
    yield "whole image", 5, 7, [[0, 0, 7, 0, 7, 5, 0, 5]]
    yield "triangle", 10, 12, [[1.2, 8.7, 6.1, 0.4, 10.9, 8.8]]
    yield "thin sliver", 20, 20, [[1, 1, 18, 2.3, 18, 2.6]]
    yield "below a pixel", 6, 6, [[2.1, 2.1, 2.3, 2.1, 2.2, 2.3]]
    yield "no area", 6, 6, [[1, 1, 4, 4, 1, 1]]
    yield "one point", 6, 6, [[3, 3, 3, 3, 3, 3]]
    yield "repeated corners", 9, 9, [[1, 1, 1, 1, 7, 1, 7, 7, 7, 7, 1, 7, 1, 1]]
    yield "bow tie", 16, 16, [[1, 1, 14, 14, 14, 1, 1, 14]]
    yield "left of the image", 8, 8, [[-5, 2, 3, 2, 3, 6, -5, 6]]
    yield "above the image", 8, 8, [[2, -7.3, 6, -7.3, 6, 3.2, 2, 3.2]]
    yield "right and below", 8, 8, [[4, 4, 30, 4, 30, 30, 4, 30]]
    yield "around the image", 8, 8, [[-9, -9, 20, -9, 20, 20, -9, 20]]
    yield "all outside", 8, 8, [[20, 20, 30, 20, 30, 30]]
    yield "two parts", 12, 20, [[1, 1, 6, 1, 6, 9, 1, 9], [10, 2, 17.5, 3, 14, 10.2]]
    yield "parts that overlap", 12, 20, [[1, 1, 12, 1, 12, 9, 1, 9], [8, 2, 17.5, 3, 14, 10.2]]
    yield "one column", 9, 1, [[0, 1, 1, 1, 1, 6, 0, 6]]
    yield "one row", 1, 9, [[1, 0, 6, 0, 6, 1, 1, 1]]
    yield "star", 40, 50, [wheel(24.3, 19.7, [18.5, 7.2], 10)]
    yield "round", 64, 48, [wheel(23.9, 31.4, [21.7], 60)]
    for k in range(40):
        h, w = 17 + k % 7, 23 + k % 5
        yield f"scattered {k}", h, w, [scattered(k + 1, 3 + k % 9, -6 if k % 2 else 0, 30)]
    for k in range(10):
        yield f"whole numbers {k}", 24, 24, [[float(round(v)) for v in scattered(k + 100, 3 + k, 0, 24)]]


def rle_cases():
    for k in range(8):
        h, w = 9 + 3 * k, 14 + 5 * k
        yy, xx = np.mgrid[0:h, 0:w]
        bitmap = ((yy * (k + 2) + xx * xx) % (7 + k) < 3).astype(np.uint8)
        yield h, w, bitmap
    yield 300, 200, np.zeros((300, 200), np.uint8)
    yield 300, 200, np.ones((300, 200), np.uint8)
    big = np.zeros((300, 200), np.uint8)
    big[40:260, 30:170] = 1
    yield 300, 200, big


def small_data_set():
    crowd = np.zeros((24, 30), np.uint8)
    crowd[3:9, 12:28] = 1
    rock = np.zeros((24, 30), np.uint8)
    rock[15:23, 2:9] = 1
    packed = coco.encode(np.asfortranarray(rock))
    annotations = [
        {"id": 11, "image_id": 7, "category_id": 40, "iscrowd": 0, "area": 90.0, "segmentation": [[2, 2, 14, 2, 14, 10, 2, 10]]},
        {"id": 12, "image_id": 7, "category_id": 5, "iscrowd": 0, "area": 30.0, "segmentation": [[6.5, 4.5, 20.2, 6, 9, 17.25]]},
        {"id": 13, "image_id": 7, "category_id": 22, "iscrowd": 1, "area": 96.0, "segmentation": {"size": [24, 30], "counts": lengths(crowd)}},
        {"id": 14, "image_id": 9, "category_id": 22, "iscrowd": 0, "segmentation": {"size": [24, 30], "counts": packed["counts"].decode()}},
        {"id": 15, "image_id": 404, "category_id": 5, "iscrowd": 0, "area": 4.0, "segmentation": [[1, 1, 3, 1, 3, 3]]},
    ]
    categories = [
        {"id": 40, "name": "boulder", "supercategory": "stone"},
        {"id": 5, "name": "fern", "supercategory": "green"},
        {"id": 22, "name": "moss", "supercategory": "green"},
    ]
    images = [{"id": k, "file_name": f"field {k}.png", "height": 24, "width": 30} for k in (7, 9, 3)]
    expected = {}
    for image in images:
        labels = np.zeros((24, 30), int)
        for a in annotations:
            if a["image_id"] != image["id"]:
                continue
            segmentation = a["segmentation"]
            if isinstance(segmentation, list):
                bitmap = rasterise(segmentation, 24, 30)
            else:
                listed = isinstance(segmentation["counts"], list)
                bitmap = coco.decode(coco.frPyObjects(segmentation, 24, 30) if listed else segmentation)
            labels[bitmap == 1] = {5: 1, 22: 2, 40: 3}[a["category_id"]]
        expected[image["file_name"]] = "".join(str(v) for v in labels.flatten().tolist())
    return {"json": {"images": images, "annotations": annotations, "categories": categories}, "expected_file_order": expected}


def main(out):
    fixture = {
        "polygons": [
            {"name": name, "height": h, "width": w, "polygons": polygons, "lengths": lengths(rasterise(polygons, h, w))}
            for name, h, w, polygons in polygon_cases()
        ],
        "rle": [
            {"height": h, "width": w, "string": coco.encode(np.asfortranarray(bitmap))["counts"].decode(), "lengths": lengths(bitmap)}
            for h, w, bitmap in rle_cases()
        ],
        "data_set": small_data_set(),
    }
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(out) / "pycocotools.json").write_text(json.dumps(fixture, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
