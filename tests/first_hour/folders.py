"""Six folders of images and masks as people have them, made with the standard library alone.

Each function writes one folder and returns the images to predict. `side` is the side of an image in pixels, `count` how many
there are to learn from. What is drawn is bright or coloured, so that a small network finds it in a minute: it is the way through
the folders that is tried, not the network.
"""
import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "regression"))
from support import write_png  # noqa: E402


def discs(rng, side, count, smallest, largest):
    """(y, x, radius) of some discs."""
    return [(rng.randrange(side), rng.randrange(side), rng.uniform(smallest, largest) * side) for _ in range(count)]


def index_at(places, y, x):
    """1 + the index of the first disc that holds the pixel, 0 for none."""
    return next((i + 1 for i, (cy, cx, radius) in enumerate(places) if (y - cy) ** 2 + (x - cx) ** 2 < radius * radius), 0)


def write_tiff(path, width, height, values, channels=1):
    """16-bit TIFF, uncompressed; values in rows, channels interleaved: one, or more than three."""
    pixels = struct.pack(f"<{len(values)}H", *values)
    lists = 8 + len(pixels)  # bits of every channel; then, that channels beyond the first are no transparency
    data = pixels + struct.pack(f"<{2 * channels}H", *[16] * channels, *[0] * channels)
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, channels, lists if channels > 1 else 16), (259, 3, 1, 1), (262, 3, 1, 1),
            (273, 4, 1, 8), (277, 3, 1, channels), (278, 4, 1, height), (279, 4, 1, len(pixels))]
    if channels > 1:
        tags.append((338, 3, channels - 1, lists + 2 * channels))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<2sHI", b"II", 42, 8 + len(data)) + data + struct.pack("<H", len(tags)) +
                     b"".join(struct.pack("<HHII", *tag) for tag in tags) + struct.pack("<I", 0))


def cells(root, side, count):
    """Microscopy: 16-bit grey TIFF whose camera fills 12 bits, masks with a number for each nucleus."""
    rng = random.Random(1)
    for i in range(count):
        places = discs(rng, side, rng.randrange(3, 9), 0.07, 0.13)
        values = [min(4095, int(rng.gauss(2200 if index_at(places, y, x) else 300, 120))) for y in range(side) for x in range(side)]
        write_tiff(root / "images" / f"field{i:02}.tif", side, side, [max(0, v) for v in values])
        write_png(root / "masks" / f"field{i:02}.png", side, side, lambda y, x, p=places: index_at(p, y, x))
    return root / "images"


def streets(root, side, count):
    """Street scenes: train, val and test in folders of these names, class numbers, 255 where nobody labelled."""
    rng = random.Random(2)
    colors = [(120, 170, 230), (90, 90, 95), (200, 40, 40)]
    for split, share in (("train", count), ("val", max(2, count // 4)), ("test", max(2, count // 4))):
        for i in range(share):
            horizon, (cy, cx, radius) = rng.randrange(side // 3, side // 2), discs(rng, side, 1, 0.12, 0.2)[0]

            def label(y, x, horizon=horizon, cy=cy, cx=cx, radius=radius):
                if y >= side - 2:
                    return 255
                return 2 if abs(y - cy) < radius and abs(x - cx) < radius else 0 if y < horizon else 1

            def pixel(y, x, label=label):
                return [min(255, max(0, v + rng.randrange(-12, 13))) for v in colors[label(min(y, side - 3), x)]]
            write_png(root / "images" / split / f"{split}_{i:03}.png", side, side, pixel, channels=3)
            write_png(root / "annotations" / split / f"{split}_{i:03}.png", side, side, label)
    return root / "images/test"


def cracks(root, side, count):
    """Photos and masks of 0 and 255, named NAME and NAME_mask."""
    rng = random.Random(3)
    for i in range(count):
        column, width = rng.randrange(side // 4, 3 * side // 4), rng.randrange(max(3, side // 16), max(4, side // 8))

        def inside(y, x, column=column, width=width):
            return abs(x - column - (y % 16 - 8) // 4) <= width // 2
        write_png(root / "images" / f"wall{i:02}.png", side, side,
                  lambda y, x, inside=inside: [(40 if inside(y, x) else 180) + rng.randrange(-15, 16)] * 3, channels=3)
        write_png(root / "masks" / f"wall{i:02}_mask.png", side, side, lambda y, x, inside=inside: 255 if inside(y, x) else 0)
    return root / "images"


def coco(root, side, count):
    """COCO: images of two splits and polygons in instances_*.json."""
    rng = random.Random(4)
    for split, share in (("train2017", count), ("val2017", max(2, count // 4))):
        images, annotations = [], []
        for i in range(share):
            top, left, size = rng.randrange(side // 2), rng.randrange(side // 2), rng.randrange(side // 4, side // 2)
            name = f"{i:012}.png"

            def pixel(y, x, top=top, left=left, size=size):
                inside = top <= y < top + size and left <= x < left + size
                return [min(255, max(0, v + rng.randrange(-12, 13))) for v in ((220, 150, 40) if inside else (60, 90, 70))]
            write_png(root / split / name, side, side, pixel, channels=3)
            images.append({"id": i + 1, "file_name": name, "height": side, "width": side})
            box = [left, top, left + size, top, left + size, top + size, left, top + size]
            annotations.append({"id": i + 1, "image_id": i + 1, "category_id": 17, "iscrowd": 0, "segmentation": [box], "area": size * size,
                                "bbox": [left, top, size, size]})
        category = {"id": 17, "name": "cat", "supercategory": "animal"}
        (root / "annotations").mkdir(parents=True, exist_ok=True)
        (root / "annotations" / f"instances_{split}.json").write_text(
            json.dumps({"images": images, "annotations": annotations, "categories": [category]}))
    return root / "val2017"


def stacks(root, side, count):
    """Fluorescence: 16-bit TIFF of five channels, of which the third and the fifth show what is looked for; one large field to predict."""
    rng = random.Random(5)

    def field(path, side, places):
        values = []
        for y in range(side):
            for x in range(side):
                shown = bool(index_at(places, y, x))
                values += [rng.randrange(400, 700), rng.randrange(1000), 9000 if shown else 800, rng.randrange(3000), 30000 if shown else 2000]
        write_tiff(path, side, side, values, channels=5)
    for i in range(count):
        places = discs(rng, side, 4, 0.1, 0.2)
        field(root / "images" / f"stack{i:02}.tif", side, places)
        write_png(root / "masks" / f"stack{i:02}.png", side, side, lambda y, x, p=places: 1 if index_at(p, y, x) else 0)
    field(root / "large/slide.tif", 5 * side, discs(rng, 5 * side, 12, 0.03, 0.06))
    return root / "large"


def two_sizes(root, side, count):
    """Two classes of objects of very different size, which few pixels show."""
    rng = random.Random(6)
    for i in range(count):
        large, small = discs(rng, side, 1, 0.25, 0.3), discs(rng, side, 6, 0.03, 0.05)

        def label(y, x, large=large, small=small):
            return 2 if index_at(small, y, x) else 1 if index_at(large, y, x) else 0
        colors = [(30, 30, 30), (70, 160, 90), (240, 220, 60)]
        write_png(root / "images" / f"plate{i:02}.png", side, side,
                  lambda y, x, label=label: [min(255, max(0, v + rng.randrange(-10, 11))) for v in colors[label(y, x)]], channels=3)
        write_png(root / "masks" / f"plate{i:02}.png", side, side, label)
    return root / "images"


FOLDERS = {"cells": cells, "streets": streets, "cracks": cracks, "coco": coco, "stacks": stacks, "two_sizes": two_sizes}
