"""What algorithms of training leave of a small network after some steps, in plain float64 torch: sharpness-aware minimisation, stochastic
weight averaging with torch.optim.swa_utils, images that grow, parts that are frozen for a part of the run.

Weights, images and labels are made from integers by both sides. Two 3x3 convolutions with batch norm and ReLU, then a 1x1 convolution.
"""
import copy
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import swa_utils

STEPS, STEPS_PER_EPOCH, SAMPLES, SIZE, CLASSES = 8, 2, 4, 8, 3
IGNORED = -1


def made_model():
    model = nn.Sequential()
    for name, layer in (("conv1", nn.Conv2d(3, 4, 3, padding=1, bias=False)), ("norm1", nn.BatchNorm2d(4)), ("relu1", nn.ReLU()),
                        ("conv2", nn.Conv2d(4, 5, 3, padding=1, bias=False)), ("norm2", nn.BatchNorm2d(5)), ("relu2", nn.ReLU()),
                        ("head", nn.Conv2d(5, CLASSES, 1))):
        model.add_module(name, layer)
    model.double()
    with torch.no_grad():
        for j, (name, value) in enumerate(model.named_parameters()):
            i = torch.arange(value.numel())
            made = (((i * 37 + j * 11 + 5) % 29) - 14).double() / 32
            value.copy_((made + (1 if name.startswith("norm") and name.endswith("weight") else 0)).view_as(value))
    return model


def batch(step):
    i = torch.arange(SAMPLES * SIZE * SIZE * 3)
    images = ((i * 53 + step * 19 + i // 11 * 7 + 7) % 64).double() / 64
    i = torch.arange(SAMPLES * SIZE * SIZE)
    labels = (i // 3 * 5 + i + step) % (CLASSES + 1)
    labels[labels == CLASSES] = IGNORED
    return images.view(SAMPLES, SIZE, SIZE, 3).permute(0, 3, 1, 2), labels.view(SAMPLES, SIZE, SIZE)


def loss_of(model, images, labels):
    return F.cross_entropy(model(images), labels, ignore_index=IGNORED)


def groups(model, decay):
    decayed = [p for p in model.parameters() if p.dim() > 1]
    plain = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": decayed, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}]


def make_optimizer(model, config):
    if config["type"] == "adamw":
        return torch.optim.AdamW(groups(model, config["weight_decay"]), lr=config["lr"])
    return torch.optim.SGD(groups(model, config["weight_decay"]), lr=config["lr"], momentum=0.9)


def climb(model, rho):
    """To w + e; returns the way back."""
    kept = {p: p.detach().clone() for p in model.parameters()}
    buffers = copy.deepcopy(dict(model.named_buffers()))
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(rho * p.grad / (norm + 1e-12))

    def back():
        with torch.no_grad():
            for p, value in kept.items():
                p.copy_(value)
            for name, value in model.named_buffers():
                value.copy_(buffers[name])
    return back


def grown(images, labels, step, initial, delay, finetune, increment):
    elapsed = step / STEPS
    share = 0.0 if elapsed < delay else min((elapsed - delay) / (1 - finetune - delay), 1)
    size = min(SIZE, round(SIZE * (initial + (1 - initial) * share) / increment) * increment)
    if size == SIZE:
        return images, labels
    small = F.interpolate(images.float(), size=(size, size), mode="bilinear", antialias=True).double()
    nearest = F.interpolate(labels.double().unsqueeze(1), size=(size, size), mode="nearest-exact").squeeze(1).long()
    return small, nearest


def set_frozen(model, names):
    """Gradients of these are not computed, and their batch norms keep their statistics."""
    model.train()
    for name, layer in model.named_children():
        frozen = name in names
        for p in layer.parameters():
            p.requires_grad_(not frozen)
            if frozen:
                p.grad = None
        if frozen:
            layer.eval()


def train(config):
    model = made_model()
    optimizer = make_optimizer(model, config)
    sam, swa, resizing = config.get("sam"), config.get("swa"), config.get("resizing")
    average, scheduler, losses = None, None, []
    for step in range(STEPS):
        images, labels = batch(step)
        if resizing:
            images, labels = grown(images, labels, step, **resizing)
        if "frozen" in config:
            set_frozen(model, config["frozen"][step])
        optimizer.zero_grad()
        if swa and step == swa["start"]:
            average = swa_utils.AveragedModel(model, use_buffers=True)
            scheduler = swa_utils.SWALR(optimizer, swa_lr=swa["lr"], anneal_epochs=swa["anneal"], anneal_strategy=swa["shape"])
        loss = loss_of(model, images, labels)
        loss.backward()
        losses.append(loss.item())
        if sam and (step + 1) % sam["interval"] == 0:
            back = climb(model, sam["rho"])
            optimizer.zero_grad()
            loss_of(model, images, labels).backward()
            back()
        if config.get("clip_norm"):
            nn.utils.clip_grad_norm_(model.parameters(), config["clip_norm"])
        optimizer.step()
        if average and (step + 1 - swa["start"]) % swa["interval"] == 0:
            average.update_parameters(model)
        if scheduler:
            scheduler.step()
    out = {"losses": losses, "params": flat(model.parameters()), "buffers": statistics(model)}
    if average:
        out["average"] = {"params": flat(average.module.parameters()), "buffers": statistics(average.module)}
        swa_utils.update_bn([batch(STEPS + i)[0] for i in range(swa["batches"])], average)
        out["average"]["measured"] = statistics(average.module)
    return out


def flat(tensors):
    return torch.cat([t.detach().flatten() for t in tensors]).tolist()


def statistics(model):
    return flat(value for name, value in model.named_buffers() if "running" in name)


def resting(level, start):
    """Composer's LayerFreezing over three parts, of which the last one is never frozen."""
    parts = [["conv1", "norm1"], ["conv2", "norm2"]]
    rows = []
    for step in range(STEPS):
        now = step // STEPS_PER_EPOCH * STEPS_PER_EPOCH / STEPS
        count = 0 if now <= start else math.floor(level * (now - start) / (1 - start) * len(parts))
        rows.append([name for part in parts[:count] for name in part])
    return rows


def cases():
    sgd = {"type": "sgd", "lr": 0.1, "weight_decay": 0.01}
    adamw = {"type": "adamw", "lr": 0.02, "weight_decay": 0.05}
    first = ["conv1", "norm1"]
    swa = {"start": 4, "interval": 1, "lr": 0.03, "anneal": 3, "shape": "cos", "batches": 3}
    yield "plain", sgd
    yield "sam", {**sgd, "sam": {"rho": 0.3, "interval": 1}}
    yield "sam_every_third_step", {**sgd, "sam": {"rho": 0.3, "interval": 3}}
    yield "sam_adamw_clipped", {**adamw, "clip_norm": 0.2, "sam": {"rho": 0.1, "interval": 2}}
    yield "swa", {**sgd, "swa": swa}
    yield "swa_linear_every_second_step", {**adamw, "swa": {**swa, "interval": 2, "shape": "linear"}}
    yield "resizing", {**sgd, "resizing": {"initial": 0.5, "delay": 0.25, "finetune": 0.25, "increment": 1}}
    yield "frozen_until", {**adamw, "frozen": [first if step < 3 else [] for step in range(STEPS)]}
    yield "frozen_from", {**sgd, "frozen": [first if step >= 4 else [] for step in range(STEPS)]}
    yield "layer_freezing", {**sgd, "frozen": resting(1.0, 0.25)}


def main(folder):
    out = {name: {"config": {k: v for k, v in config.items() if k != "frozen"}, **train(config)} for name, config in cases()}
    (pathlib.Path(folder) / "torch_training.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
