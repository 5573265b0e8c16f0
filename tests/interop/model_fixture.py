"""What the make_*_models.py scripts share: weights and inputs made from integers, and what is kept of a model's answers.

Both sides fill parameter k (by sorted name) with the same numbers, so no weights are stored. Everything is float64. Dropout is
off: it is random by nature. A case holds, in this order of events:
  train:   logits (and aux) of the first of three training passes, and the gradients of a weighted sum of them
  buffers: batch norm statistics after the third pass
  eval:    logits in evaluation mode, with those statistics, at each size
Of a tensor: its shape, its norm and values at evenly spread places; of a gradient or buffer: norm and one value.
"""
import json
import math
import pathlib

import torch

SIZES = [(65, 49), (57, 71)]


def pattern(count, k):
    i = torch.arange(count, dtype=torch.int64)
    return ((i * 2654435761 + k * 40503) % 2003).double() / 2003 - 0.5


def fill(model):
    """Kaiming-like weights; scales of batch norm in [0.75, 1.25), biases in [-0.25, 0.25)."""
    for k, (name, value) in enumerate(sorted(model.named_parameters())):
        noise = pattern(value.numel(), k).view(value.shape)
        if value.dim() > 1:
            filled = noise * math.sqrt(24 / (value.numel() / value.shape[0]))
        else:
            filled = 0.5 * noise + (1 if name.endswith("weight") else 0)
        value.data.copy_(filled)


def make_input(size, channels, shift):
    i = torch.arange(2 * channels * size[0] * size[1], dtype=torch.int64)
    return (((i * 7919 + (i // 97) * 31 + 13 + 101 * shift) % 1009).double() / 1009 - 0.5).view(2, channels, *size) * 4


def short(value):
    return float(f"{value:.13g}")


def sampled(x, count=24):
    flat = x.detach().flatten()
    places = [(2 * n + 1) * flat.numel() // (2 * count) for n in range(count)]
    return {"shape": list(x.shape), "norm": short(flat.norm().item()), "values": [short(flat[p].item()) for p in places]}


def brief(x):
    flat = x.detach().flatten()
    return [short(flat.norm().item()), short(flat[flat.numel() // 2].item())]


def weighted_sum(outputs):
    """A scalar whose gradient differs from pixel to pixel."""
    return sum((x.flatten() * pattern(x.numel(), 77 + n)).sum() for n, x in enumerate(outputs))


def record(model, run, channels=3, sizes=SIZES):
    """run(model, x): the low-resolution logits and, in training, the auxiliary ones."""
    model.double()
    fill(model)
    for module in model.modules():
        if isinstance(module, (torch.nn.Dropout, torch.nn.Dropout2d)):
            module.p = 0.0
    case = {"channels": channels, "sizes": sizes, "parameters": sum(p.numel() for p in model.parameters())}
    model.train()
    for n in range(3):
        outputs = run(model, make_input(sizes[0], channels, n))
        if n == 0:
            case["train"] = [sampled(x) for x in outputs]
            weighted_sum(outputs).backward()
    named = sorted(model.named_parameters())
    case["names"] = [name for name, _ in named]
    case["gradients"] = [brief(value.grad) for _, value in named]
    statistics = sorted((n, b) for n, b in model.named_buffers() if not n.endswith("num_batches_tracked"))
    case["buffers"] = [brief(value) for _, value in statistics]
    model.eval()
    with torch.no_grad():
        case["eval"] = [sampled(run(model, make_input(size, channels, 5))[0]) for size in sizes]
    return case


def write(folder, name, cases):
    text = json.dumps({"cases": cases}, separators=(",", ":")).replace('{"channels"', '\n{"channels"')
    (pathlib.Path(folder) / f"{name}.json").write_text(text + "\n")
