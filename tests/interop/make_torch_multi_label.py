"""Losses of classes that overlap, of PyTorch and segmentation_models_pytorch, with gradients, on inputs made from integers.

Logits lie at half the labels' resolution; a label is a set of classes as bits, ignored pixels (-1) are unevenly spread. Class 2 of
the sparse cases never occurs.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from scipy.ndimage import distance_transform_edt
from segmentation_models_pytorch.losses import DiceLoss, LovaszLoss, TverskyLoss

N, K, LOW, HIGH = 4, 3, (3, 4), (6, 7)

torch.Tensor.float = torch.Tensor.double  # smp counts pixels in float32 whatever the logits are


def make_logits(distinct):
    i = torch.arange(N * K * LOW[0] * LOW[1])
    if distinct:
        return (torch.sin(i.double() * 12.9898) * 2.5).view(N, K, *LOW)
    return (((i * 7919 + 13) % 101 - 50).double() / 20).view(N, K, *LOW)


def make_labels(sparse, ignored):
    i = torch.arange(N * HIGH[0] * HIGH[1])
    labels = (i * 31 + i // 5) % (4 if sparse else 8)
    if ignored:
        labels = torch.where((i * 17 + 3) % 4 < i // (HIGH[0] * HIGH[1]), -1, labels)
    return labels.view(N, *HIGH)


def targets(labels):
    """(pixels, K) of the labelled pixels."""
    return torch.stack([(labels[labels >= 0] >> c) & 1 for c in range(K)], 1).double()


def at_labelled(full, labels):
    return full.permute(0, 2, 3, 1)[labels >= 0]


def bce(full, labels, weights=None, smoothing=0.0):
    soft = targets(labels) * (1 - smoothing) + smoothing / 2
    loss = F.binary_cross_entropy_with_logits(at_labelled(full, labels), soft, reduction="none").mean(0)
    w = torch.ones(K).double() if weights is None else torch.tensor(weights).double()
    return (w * loss).sum() / w.sum()


def focal(full, labels, gamma):
    nll = F.binary_cross_entropy_with_logits(at_labelled(full, labels), targets(labels), reduction="none")
    return ((1 - torch.exp(-nll)) ** gamma * nll).mean()


def dice(full, labels, smooth):
    """smp's, which takes an absent class as 0 into its mean; here the mean is over those that are there. Its smoothing is added to the halves
    of numerator and denominator."""
    y = targets(labels)
    loss = DiceLoss(mode="multilabel", smooth=smooth / 2, eps=1e-300)(at_labelled(full, labels).T[None], y.T[None])
    return loss * K / (y.sum(0) > 0).sum()


def tversky(full, labels, smooth):
    y = targets(labels)
    loss = TverskyLoss(mode="multilabel", alpha=0.3, beta=0.7, smooth=smooth, eps=1e-300)(at_labelled(full, labels).T[None], y.T[None])
    return loss * K / (y.sum(0) > 0).sum()


def lovasz(full, labels):
    """The mean over classes of smp's hinge of each."""
    one = LovaszLoss(mode="binary", per_image=True, ignore_index=-1)
    return torch.stack([one(full[:, c], torch.where(labels < 0, -1, (labels >> c) & 1)) for c in range(K)]).mean()


def boundary_bce(full, labels, boost, sigma):
    """Pixels near others with another set of classes count more."""
    maps = []
    for image in labels:
        edge = torch.zeros(image.shape, dtype=torch.bool)
        for a, b, c, d in ((edge[1:], edge[:-1], image[1:], image[:-1]), (edge[:, 1:], edge[:, :-1], image[:, 1:], image[:, :-1])):
            differ = (c != d) & (c >= 0) & (d >= 0)
            a |= differ
            b |= differ
        # Without a boundary scipy has no distance to it.
        distance = torch.from_numpy(distance_transform_edt(~edge.numpy())) if edge.any() else torch.tensor(torch.inf)
        maps.append(1 + boost * torch.exp(-distance ** 2 / (2 * sigma ** 2)).double() * (distance <= 3 * sigma) + torch.zeros(image.shape))
    weight = torch.stack(maps)[labels >= 0][:, None]
    loss = F.binary_cross_entropy_with_logits(at_labelled(full, labels), targets(labels), reduction="none")
    return (weight * loss).mean()


def weighted_focal(full, labels, weights):
    nll = F.binary_cross_entropy_with_logits(at_labelled(full, labels), targets(labels), reduction="none")
    w = torch.tensor(weights).double()
    return (((1 - torch.exp(-nll)) ** 2 * nll).mean(0) * w).sum() / w.sum()


def cases():
    all_pixels = N * HIGH[0] * HIGH[1]
    yield "bce", "[bce]", {}, bce
    yield "bce without ignored pixels", "[bce]", {"ignored": False}, bce
    yield "bce weights", "[{bce: {class_weights: [0.5, 2, 1]}}]", {}, lambda x, y: bce(x, y, [0.5, 2.0, 1.0])
    yield "bce smoothing", "[{bce: {label_smoothing: 0.1}}]", {}, lambda x, y: bce(x, y, None, 0.1)
    yield "bce mean all", "[{bce: {mean: all}}]", {}, lambda x, y: bce(x, y) * (y >= 0).sum() / all_pixels
    yield "focal", "[focal]", {}, lambda x, y: focal(x, y, 2.0)
    yield "focal half", "[{focal: {gamma: 0.5}}]", {}, lambda x, y: focal(x, y, 0.5)
    yield "focal mean all", "[{focal: {mean: all}}]", {}, lambda x, y: focal(x, y, 2.0) * (y >= 0).sum() / all_pixels
    yield "dice", "[dice]", {}, lambda x, y: dice(x, y, 1e-5)
    yield "dice smooth", "[{dice: {smooth: 1}}]", {"ignored": False}, lambda x, y: dice(x, y, 1.0)
    yield "dice sparse", "[dice]", {"sparse": True}, lambda x, y: dice(x, y, 1e-5)
    yield ("bce and dice", "[{bce: {weight: 0.375}}, {dice: {weight: 1.125}}]", {},
           lambda x, y: 0.375 * bce(x, y) + 1.125 * dice(x, y, 1e-5))
    yield ("bce, focal and dice, sparse", "[bce, focal, dice]", {"sparse": True},
           lambda x, y: bce(x, y) + focal(x, y, 2.0) + dice(x, y, 1e-5))
    yield "tversky", "[{tversky: {smooth: 1}}]", {}, lambda x, y: tversky(x, y, 1.0)
    yield "tversky sparse", "[tversky]", {"sparse": True}, lambda x, y: tversky(x, y, 1e-5)
    yield "lovasz", "[lovasz]", {}, lovasz
    yield "boundary_ce", "[{boundary_ce: {sigma: 0.5}}]", {"sparse": True}, lambda x, y: boundary_bce(x, y, 10, 0.5)
    yield "focal weights", "[{focal: {class_weights: [0.5, 2, 1]}}]", {}, lambda x, y: weighted_focal(x, y, [0.5, 2.0, 1.0])


def main(folder):
    out = {"cases": []}
    for name, terms, options, loss in cases():
        sparse, ignored = options.get("sparse", False), options.get("ignored", True)
        distinct = "lovasz" in terms  # the order of pixels decides
        logits = make_logits(distinct).requires_grad_()
        full = F.interpolate(logits, size=HIGH, mode="bilinear", align_corners=False)
        value = loss(full, make_labels(sparse, ignored))
        value.backward()
        out["cases"].append({"name": name, "terms": terms, "sparse": sparse, "ignored": ignored, "distinct": distinct, "value": value.item(),
                             "gradient": logits.grad.flatten().tolist()})
    (pathlib.Path(folder) / "torch_multi_label.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
