"""Writes panoptic.json: a panoptic PNG of COCO's kind and the classes that NumPy finds in it.

Usage: make_panoptic.py OUTPUT_FOLDER. The colour of a pixel is the id of its segment, R + 256 G + 256^2 B, as panopticapi writes and reads
it; large ids, so that every channel matters.
"""
import base64
import io
import json
import pathlib
import sys

import numpy as np
from PIL import Image

HEIGHT, WIDTH = 24, 30
CATEGORIES = [{"id": 1, "name": "person", "supercategory": "person", "isthing": 1},
              {"id": 17, "name": "cat", "supercategory": "animal", "isthing": 1},
              {"id": 184, "name": "tree-merged", "supercategory": "plant", "isthing": 0}]
SEGMENTS = [{"id": 70_000, "category_id": 17, "iscrowd": 0}, {"id": 300, "category_id": 1, "iscrowd": 0},
            {"id": 16_777_215, "category_id": 184, "iscrowd": 0}, {"id": 5, "category_id": 17, "iscrowd": 1}]


def png(ids):
    rgb = np.stack([ids % 256, ids // 256 % 256, ids // 256**2], axis=-1).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(rgb, "RGB").save(out, "png", compress_level=0)
    return out.getvalue()


def main(folder):
    ids = np.zeros((HEIGHT, WIDTH), np.int64)
    ids[2:20, 3:12] = 70_000
    ids[10:24, 8:20] = 300
    ids[:6, 15:] = 16_777_215
    ids[20:, :4] = 5
    stored = np.asarray(Image.open(io.BytesIO(png(ids)))).astype(np.int64)
    read = stored[..., 0] + 256 * stored[..., 1] + 256**2 * stored[..., 2]
    classes = {category["id"]: i + 1 for i, category in enumerate(CATEGORIES)}  # behind the background
    labels = np.zeros(ids.shape, np.int64)
    for segment in SEGMENTS:
        labels[read == segment["id"]] = classes[segment["category_id"]]
    annotation = {"image_id": 9, "file_name": "field 9.png", "segments_info": SEGMENTS}
    result = {"png": base64.b64encode(png(ids)).decode(), "labels": labels.ravel().tolist(),
              "crowd": (read == 5).ravel().astype(int).tolist(),
              "json": {"images": [{"id": 9, "file_name": "field 9.png", "height": HEIGHT, "width": WIDTH}],
                       "annotations": [annotation], "categories": CATEGORIES}}
    (pathlib.Path(folder) / "panoptic.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
