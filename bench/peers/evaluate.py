"""Prediction and counting in PyTorch, from the weights and the batch that `tessera bench eval --dump` wrote: prints JSON.

evaluate.py DUMP --model deeplabv3plus|segmenter|...: logits to the image's size, argmax, confusion matrix; with --window the scores of
overlapping windows are averaged with the weights of `eval.window`. Needs torch alone.
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
from step import MODELS, normalize


def starts(length, window, stride):
    stride = stride or max(1, window * 2 // 3)
    return [*range(0, max(0, length - window), stride), max(0, length - window)]


def bell(length):
    x = torch.arange(length, dtype=torch.float64) - (length - 1) / 2
    return torch.exp(-x.square() / (2 * (length / 8) ** 2))


class Evaluation:
    def __init__(self, options):
        self.options, self.device = options, torch.device(options.device)
        weights = read_safetensors(options.dump)
        self.images, self.labels = weights.pop("batch.images"), weights.pop("batch.labels").long()
        self.model = importlib.import_module(options.model).build(weights)
        self.model.load_state_dict(weights, strict=False)
        self.model.to(self.device, memory_format=torch.channels_last).eval()
        self.mean, self.std = (torch.tensor(values, device=self.device) for values in (options.mean, options.std))
        self.forward = torch.compile(self.scores) if options.compile else self.scores
        if options.window:
            size = min(options.window, self.images.shape[1]), min(options.window, self.images.shape[2])
            self.weights = torch.outer(bell(size[0]), bell(size[1])).clamp_min(1e-3).float().to(self.device)

    def scores(self, x):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.precision == "bf16"):
            logits = self.model(x)[0]
        return F.interpolate(logits.float(), x.shape[2:], mode="bilinear", align_corners=False)

    def classes(self, x):
        window, (height, width) = self.options.window, x.shape[2:]
        if not window or (height <= window and width <= window):
            return self.forward(x).argmax(1)
        rows, columns = self.weights.shape
        corners = [(y, x0) for y in starts(height, rows, 0) for x0 in starts(width, columns, 0)]
        total = sum_ = None
        for y, x0 in corners:
            scores = self.forward(x[:, :, y:y + rows, x0:x0 + columns].contiguous(memory_format=torch.channels_last))
            if sum_ is None:
                sum_ = scores.new_zeros(scores.shape[0], scores.shape[1], height, width)
                total = scores.new_zeros(height, width)
            sum_[:, :, y:y + rows, x0:x0 + columns] += scores * self.weights
            total[y:y + rows, x0:x0 + columns] += self.weights
        return (sum_ / total).argmax(1)

    @torch.no_grad()
    def run(self):
        """Milliseconds, and how many pixels each class was given."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        labels = self.labels.to(self.device)
        predicted = self.classes(normalize(self.images.to(self.device), "fixed", self.mean, self.std))
        count = int(self.options.classes)
        bins = torch.bincount((labels * count + predicted)[labels >= 0], minlength=count * count).view(count, count).cpu()
        return (time.perf_counter() - begin) * 1e3, bins.sum(0).tolist()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dump")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--mean", type=float, nargs="+", default=[0.485, 0.456, 0.406])
    parser.add_argument("--std", type=float, nargs="+", default=[0.229, 0.224, 0.225])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    return parser.parse_args(arguments)


def measure(options):
    torch.backends.cudnn.benchmark = True
    evaluation = Evaluation(options)
    results = [evaluation.run() for _ in range(options.warmup + options.rounds)][options.warmup:]
    median = statistics.median(ms for ms, _ in results)
    return {"ms_median": median, "images_per_s": 1e3 * len(evaluation.images) / median, "predicted": results[-1][1], "torch": torch.__version__}


if __name__ == "__main__":
    print(json.dumps(measure(parse(sys.argv[1:]))))
