"""The demo's U-Net training step in PyTorch eager, from the weights and the batch that `tessera bench step --dump` wrote."""
import json
import statistics
import struct
import time

import torch
from torch import nn
from torch.nn import functional as F


def read_safetensors(path):
    types = {"F32": torch.float32, "F64": torch.float64, "I16": torch.int16, "U8": torch.uint8}
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    return {
        name: torch.frombuffer(data[slice(*entry["data_offsets"])], dtype=types[entry["dtype"]]).view(entry["shape"]).clone()
        for name, entry in header.items() if name != "__metadata__"
    }


def conv_block(inputs, outputs):
    layers = []
    for i in range(2):
        layers += [nn.Conv2d(inputs if i == 0 else outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, channels, bottleneck, in_channels, classes):
        super().__init__()
        self.heights = len(channels)
        width = in_channels
        for i, c in enumerate(channels):
            setattr(self, f"down{i}", conv_block(width, c))
            width = c
        self.bottleneck = conv_block(width, bottleneck)
        width = bottleneck
        for i in reversed(range(self.heights)):
            setattr(self, f"up{i}", nn.Sequential(nn.ConvTranspose2d(width, channels[i], 2, stride=2)))
            setattr(self, f"merge{i}", conv_block(2 * channels[i], channels[i]))
            width = channels[i]
        self.classifier = nn.Sequential(nn.Conv2d(width, classes, 1))

    def forward(self, x):
        skips = []
        for i in range(self.heights):
            x = getattr(self, f"down{i}")(x)
            skips.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottleneck(x)
        for i in reversed(range(self.heights)):
            x = getattr(self, f"merge{i}")(torch.cat([getattr(self, f"up{i}")(x), skips[i]], 1))
        return self.classifier(x)


def ce_dice(logits, labels, smooth=1e-5):
    logits = logits.float()
    ce = F.cross_entropy(logits, labels)
    probabilities = logits.softmax(1)
    one_hot = F.one_hot(labels, logits.shape[1]).permute(0, 3, 1, 2).to(probabilities.dtype)
    intersection = (probabilities * one_hot).sum((0, 2, 3))
    dice = 1 - (2 * intersection + smooth) / (probabilities.sum((0, 2, 3)) + one_hot.sum((0, 2, 3)) + smooth)
    return ce + dice[one_hot.sum((0, 2, 3)) > 0].mean()


class Peer:
    """One step at a time, so that the caller can interleave it with ours."""

    def __init__(self, dump, precision, lr=0.004, decay=0.01):
        tensors = read_safetensors(dump)
        self.images, self.labels = tensors.pop("batch.images"), tensors.pop("batch.labels").long()
        channels = [tensors[f"down{i}.0.weight"].shape[0] for i in range(8) if f"down{i}.0.weight" in tensors]
        classifier = tensors["classifier.0.weight"]
        self.model = UNet(channels, tensors["bottleneck.0.weight"].shape[0], self.images.shape[3], classifier.shape[0])
        missing, unexpected = self.model.load_state_dict(tensors, strict=False)
        assert not unexpected and all(m.endswith("num_batches_tracked") for m in missing), (missing, unexpected)
        self.model.to(memory_format=torch.channels_last).train()
        decayed = [p for p in self.model.parameters() if p.dim() > 1]
        plain = [p for p in self.model.parameters() if p.dim() <= 1]
        # PyTorch's own fastest eager choice for many small tensors on a CPU.
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": decay}, {"params": plain, "weight_decay": 0.0}], lr=lr, fused=True)
        self.bf16 = precision == "bf16"

    def step(self, lr=None):
        if lr is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = lr
        begin = time.perf_counter()
        x = self.images.float()
        flat = x.flatten(1)
        x = ((x - flat.mean(1).view(-1, 1, 1, 1)) / flat.std(1).view(-1, 1, 1, 1)).permute(0, 3, 1, 2)
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            logits = self.model(x)
        loss = ce_dice(logits, self.labels)
        loss.backward()
        self.optimizer.step()
        return (time.perf_counter() - begin) * 1e3, loss.item()


def measure(dump, precision, steps, warmup, lrs):
    peer = Peer(dump, precision)
    results = [peer.step(lr) for lr in lrs[: warmup + steps]]
    times = [ms for ms, _ in results[warmup:]]
    return {"ms_median": statistics.median(times), "ms_min": min(times), "losses": [loss for _, loss in results]}
