"""DeepLabV3+ with mmsegmentation's head and names: separable convolutions but for the bottleneck behind the ASPP."""
import torch
from torch import nn
from torch.nn import functional as F

from heads import ConvModule, EncoderDecoder, Pooled, Separable, aux_head
from resnet import ResNet


class Head(nn.Module):
    def __init__(self, inputs, low_level_inputs, channels, low_level_channels, classes, dilations):
        super().__init__()
        self.image_pool = Pooled(inputs, channels, 1)
        self.aspp_modules = nn.ModuleList([ConvModule(inputs, channels), *(Separable(inputs, channels, d) for d in dilations)])
        self.bottleneck = ConvModule((len(dilations) + 2) * channels, channels, 3)
        self.c1_bottleneck = ConvModule(low_level_inputs, low_level_channels)
        self.sep_bottleneck = nn.Sequential(Separable(channels + low_level_channels, channels), Separable(channels, channels))
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        x = stages[-1]
        x = self.bottleneck(torch.cat([self.image_pool(x), *(branch(x) for branch in self.aspp_modules)], 1))
        fine = self.c1_bottleneck(stages[0])
        x = F.interpolate(x, fine.shape[2:], mode="bilinear", align_corners=False)
        return self.conv_seg(self.sep_bottleneck(torch.cat([x, fine], 1)))


def build(weights, output_stride=16, dilations=(6, 12, 18)):
    backbone = ResNet(weights, output_stride)
    classes, channels = weights["decode_head.conv_seg.weight"].shape[:2]
    low_level = weights["decode_head.c1_bottleneck.conv.weight"].shape[0]
    head = Head(backbone.channels[-1], backbone.channels[0], channels, low_level, classes, dilations)
    return EncoderDecoder(backbone, head, aux_head(weights, backbone))
