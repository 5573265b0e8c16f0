"""U-Net: double convolutions, 2x2 transposed convolutions up, all skips. Modules are named as ours, so weights need no map.

Convolutions before a batch norm have no bias, as PyTorch code is written: the norm takes it out again.
"""
import torch
from torch import nn
from torch.nn import functional as F


def conv_block(inputs, outputs):
    layers = []
    for i in range(2):
        layers += [nn.Conv2d(inputs if i == 0 else outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
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
        return self.classifier(x), None


def drop_biases_before_norms(weights):
    """Takes them out of `weights`; the running means, which held them, become those of the convolutions without."""
    for name in [name for name in weights if name.endswith(".running_mean")]:
        block, norm, _ = name.rsplit(".", 2)
        bias = weights.pop(f"{block}.{int(norm) - 1}.bias", None)
        if bias is not None:
            weights[name] = weights[name] - bias


def build(weights):
    """The U-Net whose weights these are."""
    drop_biases_before_norms(weights)
    channels = [weights[f"down{i}.0.weight"].shape[0] for i in range(8) if f"down{i}.0.weight" in weights]
    first = weights["down0.0.weight"]
    return UNet(channels, weights["bottleneck.0.weight"].shape[0], first.shape[1], weights["classifier.0.weight"].shape[0])
