"""Prediction and counting in PyTorch, from the weights and the batch that `tessera bench eval --dump` wrote: prints JSON.

evaluate.py DUMP --model deeplabv3plus|segmenter|...: logits to the image's size, argmax, confusion matrix; with --window the scores of
overlapping windows are averaged with the weights of `eval.window`. As a careful user would write it: images and labels are bytes in
pinned memory and go to the GPU on a stream of their own, one compiled function takes them to a histogram of (label, class) pairs,
the matrix stays on the GPU, and nothing waits between batches. Needs torch alone.
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
from turns import add_turns, measure_in_turns, medians

IGNORED = 255


def starts(length, window, stride):
    stride = stride or max(1, window * 2 // 3)
    return [*range(0, max(0, length - window), stride), max(0, length - window)]


def bell(length):
    x = torch.arange(length, dtype=torch.float64) - (length - 1) / 2
    return torch.exp(-x.square() / (2 * (length / 8) ** 2))


class Evaluation:
    def __init__(self, options):
        self.options, self.device = options, torch.device(options.device)
        assert options.classes <= IGNORED, "labels are bytes here, 255 is ignored"
        weights = read_safetensors(options.dump)
        images, labels = weights.pop("batch.images"), weights.pop("batch.labels")
        labels = torch.where(labels < 0, IGNORED, labels).to(torch.uint8)
        on_gpu = self.device.type == "cuda"
        self.batch = [tensor.pin_memory() if on_gpu else tensor for tensor in (images, labels)]
        self.copying = torch.cuda.Stream() if on_gpu else None
        self.model = importlib.import_module(options.model).build(weights)
        self.model.load_state_dict(weights, strict=False)
        self.model.to(self.device, memory_format=torch.channels_last).eval()
        self.mean, self.std = (torch.tensor(values, device=self.device) for values in (options.mean, options.std))
        self.counts = torch.zeros(options.classes ** 2 + 1, device=self.device, dtype=torch.float64)
        self.pairs = torch.compile(self.pairs_of) if options.compile else self.pairs_of
        if options.window:
            size = min(options.window, images.shape[1]), min(options.window, images.shape[2])
            self.weights = torch.outer(bell(size[0]), bell(size[1])).clamp_min(1e-3).float().to(self.device)

    def scores(self, x):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.precision == "bf16"):
            logits = self.model(x)[0]
        return F.interpolate(logits.float(), x.shape[2:], mode="bilinear", align_corners=False)

    def classes(self, x):
        window, (height, width) = self.options.window, x.shape[2:]
        if not window or (height <= window and width <= window):
            return self.scores(x).argmax(1)
        rows, columns = self.weights.shape
        sums, total = 0, 0
        for top in starts(height, rows, 0):
            for left in starts(width, columns, 0):
                scores = self.scores(x[:, :, top:top + rows, left:left + columns].contiguous(memory_format=torch.channels_last))
                around = (left, width - left - columns, top, height - top - rows)
                sums = sums + F.pad(scores * self.weights, around)
                total = total + F.pad(self.weights, around)
        return (sums / total).argmax(1)

    def pairs_of(self, images, labels):
        """The cell of the matrix that each pixel counts for; ignored ones share a cell behind the last."""
        classes = self.options.classes
        predicted = self.classes(normalize(images, "fixed", self.mean, self.std))
        return torch.where(labels == IGNORED, classes * classes, labels.int() * classes + predicted).float()

    def upload(self):
        if not self.copying:
            return self.batch
        with torch.cuda.stream(self.copying):
            return [tensor.to(self.device, non_blocking=True) for tensor in self.batch]

    def wait(self):
        if self.copying:
            torch.cuda.synchronize()

    @torch.no_grad()
    def run(self, batches):
        """Milliseconds of a batch, and how many pixels each class was given in one."""
        self.counts.zero_()
        self.wait()
        begin = time.perf_counter()
        uploaded = self.upload()
        for index in range(batches):
            if self.copying:
                torch.cuda.current_stream().wait_stream(self.copying)
            images, labels = uploaded
            if index + 1 < batches:
                uploaded = self.upload()
            cells = len(self.counts)
            # torch.bincount would wait for the largest value; float32 holds these whole numbers exactly.
            self.counts += torch.histc(self.pairs(images, labels), bins=cells, min=0, max=cells)
            if self.copying:
                for tensor in (images, labels):
                    tensor.record_stream(torch.cuda.current_stream())
        counts = self.counts.cpu()
        milliseconds = (time.perf_counter() - begin) * 1e3 / batches
        matrix = counts[:-1].view(self.options.classes, self.options.classes) / batches
        return milliseconds, matrix.sum(0).long().tolist()


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
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--warmup", type=int, default=3)
    add_turns(parser)
    return parser.parse_args(arguments)


def measure(options):
    torch.backends.cudnn.benchmark = True
    evaluation = Evaluation(options)
    evaluation.run(options.warmup)
    group = 5 if evaluation.copying else 1
    turns = measure_in_turns(options.turns, lambda: [evaluation.run(group) for _ in range(max(1, options.batches // group))])
    times = [[ms for ms, _ in turn] for turn in turns]
    median = statistics.median(ms for turn in times for ms in turn)
    return {"ms_median": median, "ms_of_turns": medians(times), "images_per_s": 1e3 * len(evaluation.batch[0]) / median, "predicted": turns[-1][-1][1],
            "peak_memory_bytes": torch.cuda.max_memory_allocated() if evaluation.copying else None, "torch": torch.__version__}


if __name__ == "__main__":
    print(json.dumps(measure(parse(sys.argv[1:]))))
