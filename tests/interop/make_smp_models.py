"""Unet and a dilated encoder of segmentation-models-pytorch: logits, gradients and batch norm statistics. The library asks
for multiples of 32; encoder and decoder themselves take any size, and are called directly."""
import sys

import segmentation_models_pytorch as smp
from segmentation_models_pytorch.encoders import get_encoder

from model_fixture import record, write


def run(model, x):
    return [model.segmentation_head(model.decoder(model.encoder(x)))]


def main(folder):
    unet = smp.Unet("resnet34", encoder_weights=None, in_channels=4, classes=5)
    encoder = get_encoder("resnet18", weights=None, output_stride=8)
    write(folder, "smp_models", {
        "unet_resnet34": record(unet, run, channels=4),
        "encoder_resnet18_os8": record(encoder, lambda model, x: [model(x)[-1]]),
    })


if __name__ == "__main__":
    main(sys.argv[1])
