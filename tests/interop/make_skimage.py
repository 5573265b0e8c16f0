"""What scikit-image's label() and regionprops() find in label maps: our connected regions must have the same pixels, numbers, areas and boxes."""
import json
import pathlib
import sys

import numpy as np
from skimage.measure import label, regionprops


def noise(seed, height, width, classes):
    """Classes from an integer formula, so that they do not depend on NumPy's generators."""
    values, state = [], seed
    for _ in range(height * width):
        state = (state * 1103515245 + 12345) % 2**31
        values.append((state >> 16) % classes)
    return np.array(values).reshape(height, width)


def blobs(height, width):
    """Discs of two classes that overlap, touch at corners and have holes."""
    y, x = np.mgrid[:height, :width]
    found = np.zeros((height, width), int)
    for k, (cy, cx, r) in enumerate([(6, 6, 5), (6, 15, 5), (16, 9, 6), (22, 22, 4), (12, 27, 3)]):
        found[(y - cy) ** 2 + (x - cx) ** 2 <= r * r] = 1 + k % 2
    found[15:17, 8:10] = 0
    return found


def cases():
    yield "blobs", blobs(28, 32)
    for seed, (height, width, classes) in enumerate([(17, 23, 2), (17, 23, 3), (1, 40, 2), (40, 1, 2), (9, 9, 4)]):
        yield f"noise {seed}", noise(seed + 1, height, width, classes)


def regions(labels, connectivity):
    # Every value is a class of its own here; skimage would take 0 as no region.
    numbers = label(labels, background=-1, connectivity=connectivity)
    return {"numbers": (numbers - 1).flatten().tolist(),
            "regions": [{"label": int(labels[tuple(region.coords[0])]), "area": int(region.area), "bbox": list(map(int, region.bbox))}
                        for region in regionprops(numbers)]}


def main(folder):
    found = [{"name": name, "height": labels.shape[0], "width": labels.shape[1], "labels": labels.flatten().tolist(),
              "four": regions(labels, 1), "eight": regions(labels, 2)} for name, labels in cases()]
    (pathlib.Path(folder) / "skimage.json").write_text(json.dumps({"cases": found}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
