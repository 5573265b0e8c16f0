"""Writes augmentations/{gamma,elastic}.json: gamma as scikit-image's, elastic deformation as scipy's splines and interpolation.

Usage: make_augmentations.py OUTPUT_FOLDER. What our side draws at random is given here by formulas.
"""
import json
import pathlib
import sys

import numpy as np
from make_pillow import b64, pattern
from scipy import ndimage
from skimage import exposure


def gamma_cases():
    return [{"gamma": gamma, "pixels": b64(exposure.adjust_gamma(pattern(3), gamma).tobytes())} for gamma in (0.4, 0.8, 1.0, 1.7, 3.0)]


def elastic_case(cells, strength):
    height, width = 23, 31
    image = pattern(1, height, width)[:, :, 0]
    i, j = np.meshgrid(np.arange(cells + 3), np.arange(cells + 3), indexing="ij")
    dy, dx = strength * ((i * 7 + j * 11) % 13 - 6) / 8, strength * ((i * 5 + j * 3) % 11 - 5) / 8
    y, x = np.meshgrid(np.arange(height, dtype=np.float64), np.arange(width, dtype=np.float64), indexing="ij")
    # Without the prefilter the control points are the spline's coefficients; the image begins at the second of them.
    places = [y * cells / (height - 1) + 1, x * cells / (width - 1) + 1]
    sy = y + ndimage.map_coordinates(dy, places, order=3, prefilter=False, mode="nearest")
    sx = x + ndimage.map_coordinates(dx, places, order=3, prefilter=False, mode="nearest")
    inside = (sy >= -0.5) & (sx >= -0.5) & (sy < height - 0.5) & (sx < width - 0.5)
    clipped = [np.clip(sy, 0, height - 1), np.clip(sx, 0, width - 1)]
    pixels = np.where(inside, ndimage.map_coordinates(image.astype(np.float64), clipped, order=1, mode="nearest"), 0)
    nearest = image[np.clip(np.floor(sy + 0.5), 0, height - 1).astype(int), np.clip(np.floor(sx + 0.5), 0, width - 1).astype(int)]
    labels = np.where(inside, nearest % 5, -1)
    return {"cells": cells, "dy": dy.ravel().tolist(), "dx": dx.ravel().tolist(), "pixels": pixels.ravel().tolist(),
            "labels": b64(labels.astype(np.int16).tobytes())}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) / "augmentations"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gamma.json").write_text(json.dumps({"bytes": gamma_cases()}, indent=1) + "\n")
    cases = [elastic_case(cells, strength) for cells, strength in ((1, 2.0), (3, 3.0), (4, 5.0))]
    (folder / "elastic.json").write_text(json.dumps({"cases": cases}) + "\n")
