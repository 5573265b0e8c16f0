"""Backbones and segmentation models of torchvision: logits, gradients and batch norm statistics."""
import sys

import torchvision.models as tv
from torchvision.models.segmentation import deeplabv3_resnet50, fcn_resnet50

from model_fixture import record, write


def last_stage(model, x):
    x = model.maxpool(model.relu(model.bn1(model.conv1(x))))
    return [model.layer4(model.layer3(model.layer2(model.layer1(x))))]


def low_resolution(model, x):
    features = model.backbone(x)
    logits = [model.classifier(features["out"])]
    return logits + [model.aux_classifier(features["aux"])] if model.training else logits


def backbone(make, **options):
    model = make(weights=None, **options)
    del model.fc
    return record(model, last_stage)


def fully_dilated():
    """torchvision's own first block of a dilated stage keeps the dilation before it; mmsegmentation can dilate it too."""
    model = tv.resnet50(weights=None, replace_stride_with_dilation=[False, False, True])
    del model.fc
    model.layer4[0].conv2.dilation = model.layer4[0].conv2.padding = (2, 2)
    return record(model, last_stage)


def segmentor(make):
    return record(make(weights=None, weights_backbone=None, num_classes=21, aux_loss=True), low_resolution)


def main(folder):
    write(folder, "torchvision_models", {
        "resnet18": backbone(tv.resnet18),
        "resnet50_os8": backbone(tv.resnet50, replace_stride_with_dilation=[False, True, True]),
        "resnext50_os16": backbone(tv.resnext50_32x4d, replace_stride_with_dilation=[False, False, True]),
        "resnet50_os16_full": fully_dilated(),
        "deeplabv3_resnet50": segmentor(deeplabv3_resnet50),
        "fcn_resnet50": segmentor(fcn_resnet50),
    })


if __name__ == "__main__":
    main(sys.argv[1])
