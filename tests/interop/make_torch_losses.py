"""Losses of PyTorch, segmentation_models_pytorch and mmsegmentation with their gradients on small inputs that both sides make from
integers.

Logits (of some cases without two equal ones, where the order of pixels decides) lie at half the labels' resolution; labels have unevenly spread ignored pixels (-1) and one class that never occurs.
"""
import json
import pathlib
import sys
import types

import real_mmseg  # noqa: F401: makes mmseg importable
import torch
import torch.nn.functional as F
from mmseg.structures import OHEMPixelSampler
from scipy.ndimage import distance_transform_edt
from segmentation_models_pytorch.losses import LovaszLoss, TverskyLoss
from segmentation_models_pytorch.losses import lovasz as smp_lovasz

N, C, LOW, HIGH = 4, 5, (3, 4), (6, 7)

torch.Tensor.float = torch.Tensor.double  # smp counts pixels in float32 whatever the logits are


def make_logits(channels, distinct):
    i = torch.arange(N * channels * LOW[0] * LOW[1])
    if distinct:
        return (torch.sin(i.double() * 12.9898) * 2.5).view(N, channels, *LOW)
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


def tversky(probs, labels, alpha, beta, smooth, classes):
    """smp's of the labelled pixels. It takes an absent class as 0 into its mean; here the mean is over those that are there."""
    valid = labels >= 0
    p = probs.permute(0, 2, 3, 1)[valid].T[None][:, classes]
    y = F.one_hot(labels[valid], probs.shape[1]).double().T[None][:, classes]
    loss = TverskyLoss(mode="multilabel", from_logits=False, alpha=alpha, beta=beta, smooth=smooth, eps=1e-300)(p, y)
    return loss * len(classes) / (y.sum((0, 2)) > 0).sum()


def focal_tversky(probs, labels, exponent):
    """Each class's loss to a power, as its paper has it (smp takes the power of the mean)."""
    there = [c for c in range(C) if (labels == c).any()]
    return torch.stack([tversky(probs, labels, 0.3, 0.7, 1.0, [c]) ** exponent for c in there]).mean()


def lovasz(full, labels):
    return LovaszLoss(mode="multiclass", per_image=True, ignore_index=-1)(full, labels)


def lovasz_hinge(full, labels):
    return LovaszLoss(mode="binary", per_image=True, ignore_index=-1)(full[:, 0], labels)


def ohem_weights(full, labels, threshold, min_kept):
    """Which pixels mmsegmentation's sampler keeps of each image for itself."""
    sampler = OHEMPixelSampler(types.SimpleNamespace(ignore_index=-1), thresh=threshold, min_kept=min_kept)
    return torch.cat([sampler.sample(full[i:i + 1], labels[i:i + 1, None]) for i in range(N)])


def ohem(full, labels, threshold, min_kept, mean, weights=None):
    kept = ohem_weights(full, labels, threshold, min_kept)
    loss = (F.cross_entropy(full, labels, weights, ignore_index=-1, reduction="none") * kept).sum()
    of_classes = torch.ones(full.shape[1]).double() if weights is None else weights
    return loss / {"kept": (kept * of_classes[labels.clamp_min(0)]).sum(), "labelled": (labels >= 0).sum(),
                   "all": labels.numel()}[mean]


def boundary_map(labels, boost, sigma):
    """1 + boost * exp(-d^2 / 2 sigma^2) within three sigma of a pixel that has another label beside it."""
    rows = []
    for image in labels:
        edge = torch.zeros(image.shape, dtype=torch.bool)
        for a, b, c, d in ((edge[1:], edge[:-1], image[1:], image[:-1]), (edge[:, 1:], edge[:, :-1], image[:, 1:], image[:, :-1])):
            differ = (c != d) & (c >= 0) & (d >= 0)
            a |= differ
            b |= differ
        # Without a boundary scipy has no distance to it.
        distance = torch.from_numpy(distance_transform_edt(~edge.numpy())) if edge.any() else torch.tensor(torch.inf)
        rows.append(1 + boost * torch.exp(-distance ** 2 / (2 * sigma ** 2)).double() * (distance <= 3 * sigma) + torch.zeros(image.shape))
    return torch.stack(rows)


def boundary_ce(full, labels, boost, sigma, weights=None, smoothing=0.0):
    nll = F.cross_entropy(full, labels, weights, ignore_index=-1, reduction="none", label_smoothing=smoothing)
    of_classes = torch.ones(full.shape[1]).double() if weights is None else weights
    return (nll * boundary_map(labels, boost, sigma)).sum() / of_classes[labels[labels >= 0]].sum()


def weighted_focal(full, labels, gamma, weights, divisor):
    nll = F.cross_entropy(full, labels, ignore_index=-1, reduction="none")
    w = weights[labels.clamp_min(0)] * (labels >= 0)
    return (w * (1 - torch.exp(-nll)) ** gamma * nll).sum() / (w.sum() if divisor == "weights" else labels.numel())


def cases_of_terms(weights):
    """(name, loss.terms, classes, loss)"""
    two = torch.tensor([0.5, 2.0]).double()
    both = lambda x: torch.cat([torch.zeros_like(x), x], 1)  # noqa: E731: the sigmoid of x is the softmax of (0, x)
    text = "[0.5, 2, 1, 0.25, 3]"
    yield "tversky", "[tversky]", C, lambda x, y: tversky(x.softmax(1), y, 0.3, 0.7, 1e-5, list(range(C)))
    yield ("tversky alpha", "[{tversky: {alpha: 0.9, beta: 0.2, smooth: 1}}]", C,
           lambda x, y: tversky(x.softmax(1), y, 0.9, 0.2, 1.0, list(range(C))))
    yield "tversky focal", "[{tversky: {gamma: 0.75, smooth: 1}}]", C, lambda x, y: focal_tversky(x.softmax(1), y, 0.75)
    yield ("tversky of one logit", "[bce, {tversky: {smooth: 1}}]", 2,
           lambda x, y: bce(x, y) + tversky(both(x).softmax(1), y, 0.3, 0.7, 1.0, [1]))
    yield "lovasz", "[lovasz]", C, lovasz
    yield ("lovasz of all classes", "[{lovasz: {absent_classes: true}}]", C,
           lambda x, y: smp_lovasz._lovasz_softmax(x.softmax(1), y, classes="all", per_image=True, ignore=-1))
    yield "lovasz hinge", "[{bce: {weight: 0.5}}, lovasz]", 2, lambda x, y: 0.5 * bce(x, y) + lovasz_hinge(x, y)
    yield "ohem", "[{ohem: {threshold: 0.5, min_kept: 5}}]", C, lambda x, y: ohem(x, y, 0.5, 5, "kept")
    yield "ohem top", "[{ohem: {threshold: 0, min_kept: 7}}]", C, lambda x, y: ohem(x, y, 0.0, 7, "kept")
    yield ("ohem weights", "[{ohem: {threshold: 0.3, min_kept: 5, class_weights: " + text + "}}]", C,
           lambda x, y: ohem(x, y, 0.3, 5, "kept", weights))
    yield "ohem labelled", "[{ohem: {threshold: 0.2, min_kept: 5, mean: labelled}}]", C, lambda x, y: ohem(x, y, 0.2, 5, "labelled")
    yield ("ohem all", "[{ohem: {threshold: 0.2, min_kept: 5, mean: all, class_weights: " + text + "}}]", C,
           lambda x, y: ohem(x, y, 0.2, 5, "all", weights))
    yield "ohem of one logit", "[bce, {ohem: {min_kept: 5}}]", 2, lambda x, y: bce(x, y) + ohem(both(x), y, 0.7, 5, "kept")
    yield "boundary_ce", "[boundary_ce]", C, lambda x, y: boundary_ce(x, y, 10, 5)
    yield ("boundary_ce with rules", "[{boundary_ce: {boost: 4, sigma: 0.5, label_smoothing: 0.1, class_weights: " + text + "}}]", C,
           lambda x, y: boundary_ce(x, y, 4, 0.5, weights, 0.1))
    yield ("boundary_ce of one logit", "[bce, {boundary_ce: {sigma: 0.7, class_weights: [0.5, 2]}}]", 2,
           lambda x, y: bce(x, y) + boundary_ce(both(x), y, 10, 0.7, two))
    yield ("focal weights", "[{focal: {class_weights: " + text + "}}]", C, lambda x, y: weighted_focal(x, y, 2.0, weights, "weights"))
    yield ("focal weights mean all", "[{focal: {gamma: 1.5, mean: all, class_weights: " + text + "}}]", C,
           lambda x, y: weighted_focal(x, y, 1.5, weights, "all"))
    yield ("focal weights of one logit", "[bce, {focal: {class_weights: [0.5, 2]}}]", 2,
           lambda x, y: bce(x, y) + weighted_focal(both(x), y, 2.0, two, "weights"))
    yield ("five terms", "[ce, {lovasz: {weight: 0.7}}, {ohem: {weight: 0.5, min_kept: 5}}, {tversky: {weight: 2, smooth: 1}}, dice]", C,
           lambda x, y: F.cross_entropy(x, y, ignore_index=-1) + 0.7 * lovasz(x, y) + 0.5 * ohem(x, y, 0.7, 5, "kept")
           + 2 * tversky(x.softmax(1), y, 0.3, 0.7, 1.0, list(range(C))) + dice(x.softmax(1), y, 1e-5, range(C)))


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
    weights = torch.tensor([0.5, 2.0, 1.0, 0.25, 3.0], dtype=torch.double)
    all_cases = [(name, config, 2 if config["type"].startswith("bce") else C, loss) for name, config, loss in cases()]
    all_cases += [(name, {"terms": terms}, classes, loss) for name, terms, classes, loss in cases_of_terms(weights)]
    for name, config, classes, loss in all_cases:
        binary = classes == 2
        distinct = "lovasz" in config.get("terms", "")
        logits = make_logits(1 if binary else C, distinct).requires_grad_()
        labels = make_labels(2 if binary else C)
        full = F.interpolate(logits, size=HIGH, mode="bilinear", align_corners=False)
        value = loss(full, labels)
        value.backward()
        out["cases"].append({"name": name, "config": config, "distinct": distinct, "num_classes": 2 if binary else C, "value": value.item(),
                             "gradient": logits.grad.flatten().tolist()})
    (pathlib.Path(folder) / "torch_losses.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
