"""ResNet (torchvision's v1.5 and its names) with dilated last stages, whose sizes are read off given weights."""
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, kernel=1, stride=1, dilation=1, groups=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, dilation * (kernel // 2), dilation, groups, bias=False)


class Residual(nn.Module):
    """Bottleneck (three convolutions) or basic block (two)."""

    def __init__(self, inputs, width, outputs, stride, dilation, bottleneck):
        super().__init__()
        if bottleneck:
            shapes = [(inputs, width, 1, 1, 1), (width, width, 3, stride, dilation), (width, outputs, 1, 1, 1)]
        else:
            shapes = [(inputs, outputs, 3, stride, dilation), (outputs, outputs, 3, 1, 1)]
        self.depth = len(shapes)
        for i, shape in enumerate(shapes, 1):
            setattr(self, f"conv{i}", conv(*shape))
            setattr(self, f"bn{i}", nn.BatchNorm2d(shape[1]))
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for i in range(1, self.depth + 1):
            y = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(y))
            if i < self.depth:
                y = F.relu(y, inplace=True)
        return F.relu(y + (x if self.downsample is None else self.downsample(x)), inplace=True)


class ResNet(nn.Module):
    def __init__(self, weights, output_stride, prefix="backbone."):
        super().__init__()
        shape = lambda name: weights[prefix + name].shape
        bottleneck = prefix + "layer1.0.conv3.weight" in weights
        width, inputs = shape("conv1.weight")[:2]
        self.conv1, self.bn1 = conv(inputs, width, 7, 2), nn.BatchNorm2d(width)
        self.channels, so_far, dilation = [], 4, 1
        for i in range(1, 5):
            stride, before = (1 if i == 1 else 2), dilation
            if so_far * stride > output_stride:
                dilation, stride = dilation * stride, 1
            so_far *= stride
            blocks = []
            while prefix + f"layer{i}.{len(blocks)}.conv1.weight" in weights:
                first = not blocks
                outputs = shape(f"layer{i}.{len(blocks)}.conv{3 if bottleneck else 2}.weight")[0]
                inner = shape(f"layer{i}.{len(blocks)}.conv1.weight")[0]
                # The first block of a dilated stage keeps the dilation before it.
                blocks.append(Residual(width, inner, outputs, stride if first else 1, before if first else dilation, bottleneck))
                width = outputs
            setattr(self, f"layer{i}", nn.Sequential(*blocks))
            self.channels.append(width)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        stages = []
        for i in range(1, 5):
            x = getattr(self, f"layer{i}")(x)
            stages.append(x)
        return stages
