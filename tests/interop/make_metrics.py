"""Metrics by the libraries users trust, of label maps that both sides draw from the same discs.

Scores of pixels are scikit-learn's. Boundary IoU is the authors' mask_to_boundary (Cheng et al. 2021), with OpenCV as they have it, and
again with SciPy. Objects are scikit-image's connected components, matched by SciPy's assignment; pixels without a label follow panopticapi.
"""
import json
import math
import pathlib
import sys

import cv2
import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment
from skimage.measure import label as components
from sklearn import metrics

IGNORE = -1
CLASSES = 5  # the last one occurs nowhere


def numbers(seed):
    state = seed
    while True:
        state = (state * 1103515245 + 12345) % 2**31
        yield state >> 8


def drawn(height, width, discs):
    y, x = np.mgrid[:height, :width]
    image = np.zeros((height, width), dtype=np.int16)
    for cy, cx, radius, label in discs:
        image[(y - cy) ** 2 + (x - cx) ** 2 <= radius * radius] = label
    return image


def make_case(seed, height, width, count, unlabelled):
    """Discs of the truth and of the prediction: most are found a little off, some are missed, some are taken for another class."""
    draw = numbers(seed)
    truth, predicted = [], []
    for i in range(count):
        cy, cx, radius = next(draw) % height, next(draw) % width, 2 + next(draw) % (min(height, width) // 7)
        label = 1 + next(draw) % 2  # class 3 is only ever predicted
        truth.append([cy, cx, radius, label])
        if next(draw) % 6 > 0:
            shift = [next(draw) % 5 - 2, next(draw) % 5 - 2, next(draw) % 3 - 1]
            taken_for = label if next(draw) % 7 > 0 else 3
            predicted.append([cy + shift[0], cx + shift[1], max(1, radius + shift[2]), taken_for])
        if next(draw) % 5 == 0:
            predicted.append([next(draw) % height, next(draw) % width, 1 + next(draw) % 3, 1])
    for i in range(unlabelled):
        truth.append([next(draw) % height, next(draw) % width, min(height, width) // 6, IGNORE])
    return {"height": height, "width": width, "truth": truth, "predicted": predicted}


def or_none(values):
    return [None if math.isnan(v) else float(v) for v in values]


def pixel_scores(truth, predicted):
    t, p = truth[truth != IGNORE], predicted[truth != IGNORE]
    labels = list(range(CLASSES))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(t, p, labels=labels, zero_division=np.nan)
    present = [c for c in labels if (t == c).any() or (p == c).any()]
    iou = dict(zip(present, metrics.jaccard_score(t, p, labels=present, average=None, zero_division=0)))
    means = metrics.precision_recall_fscore_support(t, p, labels=labels, average="macro", zero_division=np.nan)
    return {"precision": or_none(precision), "recall": or_none(recall), "f1": or_none(f1), "iou": or_none(iou.get(c, math.nan) for c in labels),
            "mean_precision": means[0], "mean_recall": means[1], "mean_f1": means[2],
            "mean_iou": metrics.jaccard_score(t, p, labels=present, average="macro", zero_division=0),
            "pixel_accuracy": metrics.accuracy_score(t, p)}


def mask_to_boundary(mask, dilation_ratio=0.02):
    """As published with the paper (boundary_iou/utils/boundary_utils.py)."""
    h, w = mask.shape
    img_diag = np.sqrt(h**2 + w**2)
    dilation = int(round(dilation_ratio * img_diag))
    if dilation < 1:
        dilation = 1
    new_mask = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
    kernel = np.ones((3, 3), dtype=np.uint8)
    new_mask_erode = cv2.erode(new_mask, kernel, iterations=dilation)
    mask_erode = new_mask_erode[1 : h + 1, 1 : w + 1]
    again = ndimage.binary_erosion(mask, np.ones((3, 3)), iterations=dilation, border_value=0)
    assert (again == mask_erode.astype(bool)).all()
    return mask - mask_erode


def boundaries(truth, predicted, ratio):
    result = []
    for c in range(CLASSES):
        a = mask_to_boundary((truth == c).astype(np.uint8), ratio)
        b = mask_to_boundary(((predicted == c) & (truth != IGNORE)).astype(np.uint8), ratio)
        result.append([int((a & b).sum()), int((a | b).sum())])
    return result


def objects(truth, predicted):
    """By class: objects of the truth, predicted ones that count, matched pairs, the sum of their IoU, predicted ones that do not count."""
    result = []
    for c in range(CLASSES):
        a, b = components(truth == c, connectivity=2), components(predicted == c, connectivity=2)
        labelled = truth != IGNORE
        iou = np.zeros((a.max(), b.max()))
        for i in range(a.max()):
            for j in range(b.max()):
                own, found = a == i + 1, (b == j + 1) & labelled
                iou[i, j] = (own & found).sum() / (own | found).sum()
        rows, columns = linear_sum_assignment(-np.where(iou > 0.5, iou, 0))
        pairs = [(i, j) for i, j in zip(rows, columns) if iou[i, j] > 0.5]
        matched = {j for _, j in pairs}
        mostly_unlabelled = [j for j in range(b.max()) if ((b == j + 1) & ~labelled).sum() > 0.5 * (b == j + 1).sum()]
        dropped = [j for j in mostly_unlabelled if j not in matched]
        result.append([int(a.max()), int(b.max()) - len(dropped), len(pairs), float(sum(iou[i, j] for i, j in pairs)), len(dropped)])
    return result


def main(folder):
    cases = []
    for seed, height, width, count, unlabelled, ratio in [(1, 40, 56, 8, 0, 0.02), (2, 96, 80, 16, 2, 0.02), (3, 150, 210, 30, 4, 0.02),
                                                          (4, 64, 64, 14, 3, 0.1), (5, 9, 70, 6, 1, 0.02)]:
        case = make_case(seed, height, width, count, unlabelled)
        truth, predicted = drawn(height, width, case["truth"]), drawn(height, width, case["predicted"])
        case |= {"ratio": ratio, "pixels": pixel_scores(truth, predicted), "boundaries": boundaries(truth, predicted, ratio),
                 "objects": objects(truth, predicted)}
        cases.append(case)
    assert sum(c[4] for case in cases for c in case["objects"]) > 0
    out = {"classes": CLASSES, "cases": cases}
    (pathlib.Path(folder) / "metrics.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
