"""Losses of PyTorch and their gradients on small inputs that both sides make from integers.

Logits lie at half the labels' resolution; labels have unevenly spread ignored pixels (-1) and one class that never occurs.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F

N, C, LOW, HIGH = 4, 5, (3, 4), (6, 7)


def make_logits(channels):
    i = torch.arange(N * channels * LOW[0] * LOW[1])
    return (((i * 7919 + 13) % 101 - 50).double() / 20).view(N, channels, *LOW)


def make_labels(classes):
    """Class `classes - 1` is absent; image n is ignored in about n quarters of its pixels."""
    i = torch.arange(N * HIGH[0] * HIGH[1])
    image = i // (HIGH[0] * HIGH[1])
    labels = (i * 31 + i // 5) % max(classes - 1, 2)
    return torch.where((i * 17 + 3) % 4 < image, -1, labels).view(N, *HIGH)


def dice(probs, labels, smooth, classes):
    valid = labels >= 0
    losses = []
    for c in classes:
        target = (labels == c).double()
        if target.sum() == 0:
            continue
        p = probs[:, c] * valid
        losses.append(1 - (2 * (p * target).sum() + smooth) / (target.sum() + p.sum() + smooth))
    return torch.stack(losses).mean()


def focal(full, labels, gamma):
    nll = F.cross_entropy(full, labels, ignore_index=-1, reduction="none")
    return ((1 - torch.exp(-nll)) ** gamma * nll).sum() / (labels >= 0).sum()


def bce(full, labels, weights=None, smoothing=0.0):
    valid = labels >= 0
    target = labels[valid].double()
    weight = torch.ones_like(target) if weights is None else torch.tensor(weights, dtype=torch.double)[labels[valid]]
    soft = target * (1 - smoothing) + smoothing / 2
    return (weight * F.binary_cross_entropy_with_logits(full[:, 0][valid], soft, reduction="none")).sum() / weight.sum()


def foreground_dice(full, labels, smooth):
    p = torch.sigmoid(full)
    return dice(torch.cat([1 - p, p], 1), labels, smooth, [1])


def cases():
    weights = [0.5, 2.0, 1.0, 0.25, 3.0]
    tensor_weights = torch.tensor(weights, dtype=torch.double)
    ce = F.cross_entropy
    yield "ce", {"type": "ce"}, lambda x, y: ce(x, y, ignore_index=-1)
    yield "ce_weights", {"type": "ce", "class_weights": weights}, lambda x, y: ce(x, y, tensor_weights, ignore_index=-1)
    yield "ce_smoothing", {"type": "ce", "label_smoothing": 0.1}, lambda x, y: ce(x, y, ignore_index=-1, label_smoothing=0.1)
    yield ("ce_weights_smoothing", {"type": "ce", "class_weights": weights, "label_smoothing": 0.2},
           lambda x, y: ce(x, y, tensor_weights, ignore_index=-1, label_smoothing=0.2))
    # mmsegmentation's CrossEntropyLoss unless avg_non_ignore is set: ignored pixels are 0 and count.
    yield ("ce_mean_all", {"type": "ce", "mean": "all"}, lambda x, y: ce(x, y, ignore_index=-1, reduction="none").mean())
    yield ("ce_weights_mean_all", {"type": "ce", "class_weights": weights, "mean": "all"},
           lambda x, y: ce(x, y, tensor_weights, ignore_index=-1, reduction="none").mean())
    yield "focal", {"type": "focal"}, lambda x, y: focal(x, y, 2.0)
    yield "focal_half", {"type": "focal", "focal_gamma": 0.5}, lambda x, y: focal(x, y, 0.5)
    yield ("focal_mean_all", {"type": "focal", "mean": "all"}, lambda x, y: focal(x, y, 2.0) * (y >= 0).sum() / y.numel())
    yield "dice", {"type": "dice"}, lambda x, y: dice(x.softmax(1), y, 1e-5, range(C))
    yield "dice_smooth_1", {"type": "dice", "dice_smooth": 1.0}, lambda x, y: dice(x.softmax(1), y, 1.0, range(C))
    yield ("ce_dice", {"type": "ce_dice", "ce_weight": 0.375, "dice_weight": 1.125},
           lambda x, y: 0.375 * ce(x, y, ignore_index=-1) + 1.125 * dice(x.softmax(1), y, 1e-5, range(C)))
    yield ("ce_dice_mean_all", {"type": "ce_dice", "mean": "all"},
           lambda x, y: ce(x, y, ignore_index=-1, reduction="none").mean() + dice(x.softmax(1), y, 1e-5, range(C)))
    yield "bce", {"type": "bce"}, bce
    yield "bce_weights", {"type": "bce", "class_weights": [0.5, 2.0]}, lambda x, y: bce(x, y, [0.5, 2.0])
    yield "bce_smoothing", {"type": "bce", "label_smoothing": 0.1}, lambda x, y: bce(x, y, None, 0.1)
    # With both, torch has a definition for two classes only: the sigmoid of x is the softmax of (0, x).
    yield ("bce_weights_smoothing", {"type": "bce", "class_weights": [0.5, 2.0], "label_smoothing": 0.1},
           lambda x, y: ce(torch.cat([torch.zeros_like(x), x], 1), y, torch.tensor([0.5, 2.0]).double(), ignore_index=-1,
                           label_smoothing=0.1))
    yield "bce_dice", {"type": "bce_dice", "dice_weight": 0.5}, lambda x, y: bce(x, y) + 0.5 * foreground_dice(x, y, 1e-5)


def main(folder):
    out = {"shape": {"n": N, "classes": C, "low": LOW, "high": HIGH}, "cases": []}
    for name, config, loss in cases():
        binary = config["type"].startswith("bce")
        logits = make_logits(1 if binary else C).requires_grad_()
        labels = make_labels(2 if binary else C)
        full = F.interpolate(logits, size=HIGH, mode="bilinear", align_corners=False)
        value = loss(full, labels)
        value.backward()
        out["cases"].append({"name": name, "config": config, "num_classes": 2 if binary else C, "value": value.item(),
                             "gradient": logits.grad.flatten().tolist()})
    (pathlib.Path(folder) / "torch_losses.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
