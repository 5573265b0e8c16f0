"""PSPNet with mmsegmentation's head and names."""
import torch
from torch import nn

from heads import ConvModule, EncoderDecoder, Pooled, aux_head
from resnet import ResNet


class Head(nn.Module):
    def __init__(self, inputs, channels, classes, bins):
        super().__init__()
        self.psp_modules = nn.ModuleList(Pooled(inputs, channels, size) for size in bins)
        self.bottleneck = ConvModule(inputs + len(bins) * channels, channels, 3)
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        x = stages[-1]
        return self.conv_seg(self.bottleneck(torch.cat([x, *(branch(x) for branch in self.psp_modules)], 1)))


def build(weights, output_stride=8, bins=(1, 2, 3, 6)):
    backbone = ResNet(weights, output_stride)
    classes, channels = weights["decode_head.conv_seg.weight"].shape[:2]
    return EncoderDecoder(backbone, Head(backbone.channels[-1], channels, classes, bins), aux_head(weights, backbone))
