"""A training step in PyTorch, eager or compiled, from the weights and the batch that `tessera bench step --dump` wrote.

step.py DUMP --model unet|deeplabv3plus|segmenter|pspnet: prints times, peak memory and losses as JSON. Needs torch alone.
"""
import argparse
import importlib
import json
import statistics
import sys
import time

import torch
from torch.nn import functional as F

from safetensors_file import read_safetensors
from turns import add_turns, measure_in_turns, medians

MODELS = ("unet", "deeplabv3plus", "segmenter", "pspnet")


def cross_entropy(logits, labels):
    """At the labels' size. Autocast computes the upsampled logits and the loss in float32."""
    if logits.shape[2:] != labels.shape[1:]:
        logits = F.interpolate(logits, labels.shape[1:], mode="bilinear", align_corners=False)
    return F.cross_entropy(logits, labels, ignore_index=-1)


def dice(logits, labels, smooth=1e-5):
    """Soft Dice of the batch, the mean over the classes that it has; for labels without ignored pixels."""
    if logits.shape[2:] != labels.shape[1:]:
        logits = F.interpolate(logits, labels.shape[1:], mode="bilinear", align_corners=False)
    probabilities = logits.float().softmax(1)
    one_hot = F.one_hot(labels, logits.shape[1]).permute(0, 3, 1, 2).to(probabilities.dtype)
    counts = one_hot.sum((0, 2, 3))
    intersection = (probabilities * one_hot).sum((0, 2, 3))
    terms = 1 - (2 * intersection + smooth) / (probabilities.sum((0, 2, 3)) + counts + smooth)
    present = (counts > 0).to(terms.dtype)
    return (terms * present).sum() / present.sum()


LOSSES = {"ce": cross_entropy, "ce_dice": lambda logits, labels: cross_entropy(logits.float(), labels) + dice(logits, labels)}


def normalize(images, mode, mean, std):
    x = images.float()
    if mode == "per_image":
        flat = x.flatten(1)
        x = (x - flat.mean(1).view(-1, 1, 1, 1)) / flat.std(1).view(-1, 1, 1, 1)
    else:
        x = (x / 255 - mean) / std
    return x.permute(0, 3, 1, 2)


class Step:
    def __init__(self, options):
        self.device = torch.device(options.device)
        weights = read_safetensors(options.dump)
        self.images = weights.pop("batch.images").to(self.device)
        self.labels = weights.pop("batch.labels").long().to(self.device)
        arguments = {name: value for name, value in (("heads", options.heads),) if value}
        given = sum(tensor.numel() for tensor in weights.values())
        self.model = importlib.import_module(options.model).build(weights, **arguments)
        missing, unexpected = self.model.load_state_dict(weights, strict=False)
        assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
        dropped = given - sum(tensor.numel() for tensor in weights.values())  # biases that a batch norm takes out, see unet.py
        self.parameters = dropped + sum(p.numel() for p in self.model.parameters())
        self.model.to(self.device, memory_format=torch.channels_last).train()
        self.bf16, self.loss = options.precision == "bf16", LOSSES[options.loss]
        self.normalization = (options.normalize, torch.tensor(options.mean, device=self.device), torch.tensor(options.std, device=self.device))
        self.optimizer = self.make_optimizer(options)
        self.forward = torch.compile(self.loss_of) if options.compile else self.loss_of

    def make_optimizer(self, options):
        if options.optimizer == "sgd":
            return torch.optim.SGD(self.model.parameters(), lr=options.lr, momentum=0.9, weight_decay=options.weight_decay, fused=True)
        decayed = [p for p in self.model.parameters() if p.dim() > 1]
        plain = [p for p in self.model.parameters() if p.dim() <= 1]
        groups = [{"params": decayed, "weight_decay": options.weight_decay}, {"params": plain, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=options.lr, fused=True)

    def loss_of(self, images, labels):
        x = normalize(images, *self.normalization)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            logits, aux = self.model(x)
            loss = self.loss(logits, labels)
            return loss if aux is None else loss + 0.4 * self.loss(aux, labels)

    def profile(self, steps=3):
        """Calls and milliseconds of each GPU kernel, as `tessera bench step --profile` gives them."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            self.run(steps)
        events = [event for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        found = {}
        for event in events:
            calls, us = found.get(event.name, (0, 0))
            found[event.name] = calls + 1, us + event.device_time
        return [{"name": name, "calls_per_step": calls / steps, "ms_per_step": us / 1e3 / steps}
                for name, (calls, us) in sorted(found.items(), key=lambda item: -item[1][1])]

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def run(self, steps):
        """Milliseconds of a step, and the losses before each update."""
        self.wait()
        begin = time.perf_counter()
        losses = []
        for _ in range(steps):
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.forward(self.images, self.labels)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.detach())
        self.wait()
        return (time.perf_counter() - begin) * 1e3 / steps, [loss.item() for loss in losses]


def measure(options):
    torch.backends.cudnn.benchmark = True
    step = Step(options)
    group = 5 if step.device.type == "cuda" else 1  # as `tessera bench step`
    losses = [step.run(1)[1][0] for _ in range(options.warmup)]
    if step.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()

    def turn():
        groups = [step.run(min(group, options.steps - first)) for first in range(0, options.steps, group)]
        losses.extend(loss for _, found in groups for loss in found)
        return [ms for ms, _ in groups]

    turns = measure_in_turns(options.turns, turn)
    times = [ms for turn in turns for ms in turn]
    peak = torch.cuda.max_memory_allocated() if step.device.type == "cuda" else None
    profile = step.profile() if options.profile and step.device.type == "cuda" else None
    return {"ms_median": statistics.median(times), "ms_of_turns": medians(turns), "profile": profile, "ms_min": min(times), "peak_memory_bytes": peak, "parameters": step.parameters,
            "losses": losses, "torch": torch.__version__}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--profile", action="store_true", help="also the time of each GPU kernel")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--loss", choices=sorted(LOSSES), default="ce")
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="sgd")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--weight-decay", type=float, default=0.0005)
    parser.add_argument("--normalize", choices=("fixed", "per_image"), default="fixed")
    parser.add_argument("--mean", type=float, nargs="+", default=[0.485, 0.456, 0.406])
    parser.add_argument("--std", type=float, nargs="+", default=[0.229, 0.224, 0.225])
    parser.add_argument("--heads", type=int, default=0, help="segmenter: attention heads; 0: one per 64 channels")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=5)
    add_turns(parser)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    print(json.dumps(measure(parse(sys.argv[1:]))))
