"""Models of mmsegmentation's own configs (real_mmseg.py): logits, gradients and batch norm statistics.

Heads are narrow (32 to 64 channels) where width changes nothing but time; what else is changed stands beside the config."""
import sys

from model_fixture import record, write
from real_mmseg import build, logits, model_settings

AUX = {"channels": 32, "num_classes": 7}


def cases():
    def case(path, head, **more):
        return build(model_settings(path, {"decode_head": {"num_classes": 7, **head}, "auxiliary_head": AUX, **more}))
    yield "pspnet", case("pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512.py", {"channels": 48}, backbone={"stem_channels": 128})
    yield "upernet", case("upernet/upernet_r18_4xb4-80k_ade20k-512x512.py", {"channels": 32, "pool_scales": (1, 2, 4, 6)})
    # The configs for images of 769 align corners.
    yield "deeplabv3", case("deeplabv3/deeplabv3_r18-d8_4xb2-80k_cityscapes-769x769.py", {"channels": 64, "dilations": (1, 6, 12, 18)})
    yield "deeplabv3plus", case("deeplabv3plus/deeplabv3plus_r18-d8_4xb2-80k_cityscapes-512x1024.py", {"channels": 64})
    yield "fcn", case("fcn/fcn_r18-d8_4xb2-80k_cityscapes-512x1024.py", {"channels": 64})


def main(folder):
    write(folder, "mmseg_models", {name: record(model, logits) for name, model in cases()})


if __name__ == "__main__":
    main(sys.argv[1])
