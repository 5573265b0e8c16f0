"""The heads of mmsegmentation's PSPNet, UPerNet, DeepLabV3 and DeepLabV3+, written anew for comparison, after the papers
and the library's published layout and parameter names; its own modules need an install of mmcv. Backbones are torchvision's."""
import torch
import torch.nn.functional as F
import torchvision.models as tv
from torch import nn


def resize(x, like):
    return F.interpolate(x, size=like.shape[2:], mode="bilinear", align_corners=False)


class ConvModule(nn.Module):
    def __init__(self, cin, cout, kernel=1, dilation=1, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, kernel, padding=dilation * (kernel // 2), dilation=dilation, groups=groups, bias=False)
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Separable(nn.Module):
    def __init__(self, cin, cout, dilation=1):
        super().__init__()
        self.depthwise_conv = ConvModule(cin, cin, 3, dilation, groups=cin)
        self.pointwise_conv = ConvModule(cin, cout)

    def forward(self, x):
        return self.pointwise_conv(self.depthwise_conv(x))


def pooled(cin, cout, bins):
    return nn.ModuleList([nn.Sequential(nn.AdaptiveAvgPool2d(b), ConvModule(cin, cout)) for b in bins])


class PspHead(nn.Module):
    def __init__(self, stages, channels, classes, bins):
        super().__init__()
        self.psp_modules = pooled(stages[3], channels, bins)
        self.bottleneck = ConvModule(stages[3] + len(bins) * channels, channels, 3)
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        x = stages[3]
        return self.conv_seg(self.bottleneck(torch.cat([x] + [resize(m(x), x) for m in self.psp_modules], 1)))


class UperHead(nn.Module):
    def __init__(self, stages, channels, classes, bins):
        super().__init__()
        self.psp_modules = pooled(stages[3], channels, bins)
        self.bottleneck = ConvModule(stages[3] + len(bins) * channels, channels, 3)
        self.lateral_convs = nn.ModuleList([ConvModule(c, channels) for c in stages[:3]])
        self.fpn_convs = nn.ModuleList([ConvModule(channels, channels, 3) for _ in range(3)])
        self.fpn_bottleneck = ConvModule(4 * channels, channels, 3)
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        x = stages[3]
        top = self.bottleneck(torch.cat([x] + [resize(m(x), x) for m in self.psp_modules], 1))
        pyramid = [top]
        for stage, lateral in zip(reversed(stages[:3]), reversed(self.lateral_convs)):
            fine = lateral(stage)
            pyramid.insert(0, fine + resize(pyramid[0], fine))
        levels = [conv(level) for conv, level in zip(self.fpn_convs, pyramid)] + [top]
        return self.conv_seg(self.fpn_bottleneck(torch.cat([resize(level, levels[0]) for level in levels], 1)))


class AsppHead(nn.Module):
    def __init__(self, stages, channels, classes, dilations, branch=lambda i, o, d: ConvModule(i, o, 3, d), bottleneck=None):
        super().__init__()
        self.image_pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), ConvModule(stages[3], channels))
        self.aspp_modules = nn.ModuleList([ConvModule(stages[3], channels)] + [branch(stages[3], channels, d) for d in dilations])
        self.bottleneck = (bottleneck or branch)((2 + len(dilations)) * channels, channels, 1)
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def pyramid(self, x):
        return self.bottleneck(torch.cat([resize(self.image_pool(x), x)] + [m(x) for m in self.aspp_modules], 1))

    def forward(self, stages):
        return self.conv_seg(self.pyramid(stages[3]))


class SeparableAsppHead(AsppHead):
    def __init__(self, stages, channels, classes, dilations, low, bottleneck=None):
        super().__init__(stages, channels, classes, dilations, Separable, bottleneck)
        self.c1_bottleneck = ConvModule(stages[0], low)
        self.sep_bottleneck = nn.Sequential(Separable(channels + low, channels), Separable(channels, channels))

    def forward(self, stages):
        fine = self.c1_bottleneck(stages[0])
        return self.conv_seg(self.sep_bottleneck(torch.cat([resize(self.pyramid(stages[3]), fine), fine], 1)))


class FcnHead(nn.Module):
    def __init__(self, cin, channels, classes, stage, convs=1, concat=False):
        super().__init__()
        self.stage = stage
        self.convs = nn.Sequential(*[ConvModule(channels if n else cin, channels, 3) for n in range(convs)])
        self.conv_cat = ConvModule(cin + channels, channels, 3) if concat else None
        self.conv_seg = nn.Conv2d(channels, classes, 1)

    def forward(self, stages):
        x = self.convs(stages[self.stage])
        return self.conv_seg(x if self.conv_cat is None else self.conv_cat(torch.cat([stages[self.stage], x], 1)))


def deep_stem(cin, width):
    """mmsegmentation's ResNetV1c: three 3x3 convolutions, numbered with their norms and ReLUs."""
    layers = []
    for a, b, stride in [(cin, width // 2, 2), (width // 2, width // 2, 1), (width // 2, width, 1)]:
        layers += [nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*layers)


class Segmentor(nn.Module):
    def __init__(self, backbone, decode_head, auxiliary_head=None):
        super().__init__()
        del backbone.fc
        self.backbone, self.decode_head, self.auxiliary_head = backbone, decode_head, auxiliary_head

    def forward(self, x):
        b = self.backbone
        x = b.maxpool(b.stem(x) if hasattr(b, "stem") else F.relu(b.bn1(b.conv1(x))))
        stages = []
        for layer in (b.layer1, b.layer2, b.layer3, b.layer4):
            stages.append(layer(stages[-1] if stages else x))
        outputs = [self.decode_head(stages)]
        return outputs + [self.auxiliary_head(stages)] if self.training and self.auxiliary_head else outputs


def dilated(make):
    return make(weights=None, replace_stride_with_dilation=[False, True, True])


def with_deep_stem(backbone, width, cin=3):
    """The blocks behind a wider stem take its width."""
    del backbone.conv1, backbone.bn1
    backbone.stem = deep_stem(cin, width)
    first = backbone.layer1[0]
    if width != first.conv1.in_channels:
        first.conv1 = nn.Conv2d(width, first.conv1.out_channels, 1, bias=False)
        first.downsample[0] = nn.Conv2d(width, first.downsample[0].out_channels, 1, bias=False)
    return backbone


R50 = [256, 512, 1024, 2048]
R18 = [64, 128, 256, 512]


def resnet50_d8():
    return dilated(tv.resnet50)


def resnet18():
    return tv.resnet18(weights=None)
