"""The parts of mmsegmentation's decode heads that DeepLabV3+ and PSPNet share."""
from torch import nn
from torch.nn import functional as F

from resnet import conv


class ConvModule(nn.Module):
    def __init__(self, inputs, outputs, kernel=1, dilation=1, groups=1):
        super().__init__()
        self.conv, self.bn = conv(inputs, outputs, kernel, 1, dilation, groups), nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Separable(nn.Module):
    def __init__(self, inputs, outputs, dilation=1):
        super().__init__()
        self.depthwise_conv = ConvModule(inputs, inputs, 3, dilation, groups=inputs)
        self.pointwise_conv = ConvModule(inputs, outputs)

    def forward(self, x):
        return self.pointwise_conv(self.depthwise_conv(x))


class Pooled(nn.Sequential):
    """Average pooling to bin x bin, 1x1 convolution, back to the input's size."""

    def __init__(self, inputs, outputs, size):
        super().__init__(nn.AdaptiveAvgPool2d(size), ConvModule(inputs, outputs))

    def forward(self, x):
        return F.interpolate(super().forward(x), x.shape[2:], mode="bilinear", align_corners=False)


class FcnHead(nn.Module):
    """The auxiliary head: one 3x3 convolution on stage 3."""

    def __init__(self, inputs, channels, classes):
        super().__init__()
        self.convs = nn.Sequential(ConvModule(inputs, channels, 3))
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        return self.conv_seg(self.convs(stages[2]))


class EncoderDecoder(nn.Module):
    def __init__(self, backbone, decode_head, auxiliary_head=None):
        super().__init__()
        self.backbone, self.decode_head, self.auxiliary_head = backbone, decode_head, auxiliary_head

    def forward(self, x):
        stages = self.backbone(x)
        return self.decode_head(stages), None if self.auxiliary_head is None else self.auxiliary_head(stages)


def aux_head(weights, backbone):
    """As the weights have it, or None."""
    if "auxiliary_head.conv_seg.weight" not in weights:
        return None
    classes, channels = weights["auxiliary_head.conv_seg.weight"].shape[:2]
    return FcnHead(backbone.channels[2], channels, classes)
