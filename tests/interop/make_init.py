"""Where the models of the libraries start: statistics of each parameter over several seeds, in init.json.

Of a parameter: the number of values over all seeds, their mean (in deviations), deviation, kurtosis and largest magnitude; of one
that is constant: the number, the value, 0, 0 and the magnitude. torchvision, smp, timm and mmsegmentation are the libraries themselves,
with their own initialisation. Three are written out here:
- the plain U-Net, of torch's own layers, which initialise themselves;
- rstrudel/segmenter, which is in no package registry: its init_weights, with timm's trunc_normal_, on the modules of make_vit.py;
- Flax's lecun_normal and Keras's glorot_uniform, the defaults of their convolutions, from their documented formulas: the two libraries
  are too large to install for two lines. Convolutions and transposed ones of Flax (jax 0.10.2) and Keras 3.15.1 were looked at once:
  the same deviation, kurtosis and bounds.
"""
import json
import math
import pathlib
import sys

import numpy as np
import segmentation_models_pytorch as smp
import torch
import torchvision.models as tv
from timm.layers import trunc_normal_
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer
from torch import nn
from torchvision.models.segmentation import deeplabv3_resnet50, fcn_resnet50
from torchvision.models.segmentation.fcn import FCNHead

import make_vit
import real_mmseg

SEEDS, SEEDS_OF_LARGE = 4, 2
CLASSES = 7
LAYERS = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


def statistics(draws):
    values = torch.cat([value.detach().flatten() for value in draws]).double()
    mean, largest = values.mean().item(), values.abs().max().item()
    square = (values - mean).square()
    deviation = square.mean().sqrt().item()
    if deviation == 0:
        return [values.numel(), mean, 0, 0, largest]
    kurtosis = square.square().mean().item() / deviation**4
    return [values.numel(), *(float(f"{x:.9g}") for x in (mean / deviation, deviation, kurtosis, largest))]


def case(name, build, settings, layout="tessera", channels=3, classes=CLASSES, seeds=SEEDS):
    """build(): a module, or a list of (prefix of our names, module)."""
    draws = {}
    for seed in range(1, seeds + 1):
        torch.manual_seed(seed)
        np.random.seed(seed)
        parts = build()
        for prefix, part in parts if isinstance(parts, list) else [("", parts)]:
            for key, value in part.named_parameters():
                draws.setdefault(prefix + key, []).append(value)
    return {"name": name, "settings": settings, "layout": layout, "channels": channels, "classes": classes, "seeds": seeds,
            "parameters": {key: statistics(values) for key, values in draws.items()}}


class UNet(nn.Module):
    """The layers of a U-Net under our names; it is never run."""

    def __init__(self, channels, bottleneck, convs=2, batch_norm=True, dilated=False):
        super().__init__()
        self.convs, self.batch_norm, self.dilated = convs, batch_norm, dilated
        width = 3
        for i, out in enumerate(channels):
            self.add_module(f"down{i}", self.stack(width, out))
            width = out
        self.bottleneck = self.stack(width, bottleneck)
        width = bottleneck
        for i in reversed(range(len(channels))):
            halves = dilated and i + 1 < len(channels)
            risen = channels[i + 1] // 2 if halves else channels[i]
            up = nn.ConvTranspose2d(width, risen, 3 if dilated else 2, stride=2)
            self.add_module(f"up{i}", nn.Sequential(up, nn.BatchNorm2d(risen)) if dilated and batch_norm else nn.Sequential(up))
            skip = 0 if dilated and i == 0 else channels[i]
            self.add_module(f"merge{i}", self.stack(risen + skip, channels[i]))
            width = channels[i]
        self.classifier = nn.Sequential(nn.Conv2d(width, CLASSES, 1))

    def stack(self, inputs, outputs):
        layers = []
        for i in range(self.convs):
            layers += [nn.Conv2d(inputs if i == 0 else outputs, outputs, 3, padding=1)]
            layers += [nn.BatchNorm2d(outputs)] * self.batch_norm + [nn.ReLU()]
        return nn.Sequential(*layers)


def drawn(model, draw):
    """Every convolution and linear layer: weight from `draw`, bias 0."""
    for module in model.modules():
        if isinstance(module, LAYERS):
            draw(module)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return model


def inputs_and_outputs(module):
    pixels = module.weight[0, 0].numel()
    first, second = module.weight.shape[:2]
    return (first * pixels, second * pixels) if isinstance(module, nn.ConvTranspose2d) else (second * pixels, first * pixels)


def flax_lecun_normal(module):
    """jax.nn.initializers.variance_scaling(1.0, "fan_in", "truncated_normal")."""
    values = np.random.standard_normal(module.weight.numel())
    while (outside := np.abs(values) > 2).any():
        values[outside] = np.random.standard_normal(outside.sum())
    deviation = math.sqrt(1 / inputs_and_outputs(module)[0]) / 0.87962566103423978
    module.weight.data = torch.tensor(values * deviation).float().view(module.weight.shape)


def keras_glorot_uniform(module):
    limit = math.sqrt(6 / sum(inputs_and_outputs(module)))
    module.weight.data = torch.tensor(np.random.uniform(-limit, limit, module.weight.shape)).float()


def he_normal(module):
    nn.init.normal_(module.weight, std=math.sqrt(2 / max(inputs_and_outputs(module))))


def plain_unets():
    channels = "model.unet.channels=[16,32,64]"
    small = ["model.name=unet", channels, "model.unet.bottleneck=96"]
    coco = ["model.name=unet", "model.unet.channels=[16,32,32,32]", "model.unet.convs=[4]", "model.unet.batch_norm=false",
            "model.unet.up=dilated", "model.unet.skips=inner"]
    microscopy = ["model.name=unet", "model.unet.channels=[8,16,32,64]", "model.unet.bottleneck=128"]

    def unet():
        return UNet([16, 32, 64], 96)

    def unet_coco():
        return UNet([16, 32, 32, 32], 64, convs=4, batch_norm=False, dilated=True)
    yield case("torch, U-Net", unet, small)
    yield case("torch, U-Net of the COCO reference's form", unet_coco, coco)
    yield case("Flax, U-Net of the COCO reference", lambda: drawn(unet_coco(), flax_lecun_normal), [*coco, "model.init=lecun"])
    yield case("Keras, U-Net of the microscopy reference", lambda: drawn(UNet([8, 16, 32, 64], 128), keras_glorot_uniform),
               [*microscopy, "model.init=glorot"])
    yield case("He, U-Net", lambda: drawn(unet(), he_normal), [*small, "model.init=he"])


def torchvision():
    options = dict(weights=None, weights_backbone=None, num_classes=CLASSES, aux_loss=True)
    for name, make in (("fcn", fcn_resnet50), ("deeplabv3", deeplabv3_resnet50)):
        yield case(f"torchvision {name}_resnet50", lambda make=make: make(**options), [f"model.name={name}", "model.backbone.name=resnet50"],
                   "torchvision", seeds=SEEDS_OF_LARGE)

    def zero_gamma():
        backbone = tv.resnet18(weights=None, zero_init_residual=True)
        del backbone.fc
        return [("backbone.", backbone), ("classifier.", FCNHead(512, CLASSES))]
    yield case("torchvision resnet18, zero_init_residual", zero_gamma, [
        "model.name=fcn", "model.backbone.name=resnet18", "model.fcn.aux.enabled=false", "model.zero_gamma=true"])


def smp_unet():
    yield case("smp Unet resnet18", lambda: smp.Unet("resnet18", encoder_weights=None, classes=CLASSES),
               ["model.name=unet_resnet", "model.backbone.name=resnet18"], "smp")


MMSEG = {
    "pspnet": ("pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512.py", []),
    "upernet": ("upernet/upernet_r50_4xb4-80k_ade20k-512x512.py", []),
    "deeplabv3": ("deeplabv3/deeplabv3_r50-d8_4xb4-80k_ade20k-512x512.py", ["layout=mmseg"]),
    "deeplabv3plus": ("deeplabv3plus/deeplabv3plus_r50-d8_4xb4-80k_ade20k-512x512.py", ["separable=aspp", "low_level_channels=48"]),
    "fcn": ("fcn/fcn_r50-d8_4xb4-80k_ade20k-512x512.py", ["layout=mmseg"]),
}
R18 = [64, 128, 256, 512]


def mmseg_settings(path, depth):
    """The library's own config with narrow heads; with depth 18 its heads are told of narrower stages."""
    heads = {"decode_head": dict(channels=64, num_classes=CLASSES), "auxiliary_head": dict(channels=32, num_classes=CLASSES)}
    settings = real_mmseg.model_settings(path, {"backbone": dict(depth=depth), **heads})
    if depth == 18:
        head = settings["decode_head"]
        head["in_channels"] = R18 if isinstance(head["in_channels"], (list, tuple)) else R18[-1]
        head.update(dict(c1_in_channels=R18[0]) if "c1_in_channels" in head else {})
        settings["auxiliary_head"]["in_channels"] = R18[2]
    return settings


def mmsegmentation():
    for name, (path, extra) in MMSEG.items():
        depth = 50 if name == "pspnet" else 18
        own = [*extra, "channels=64", "aux.enabled=true", "aux.channels=32"]
        settings = [f"model.name={name}", f"model.backbone.name=resnet{depth}", "model.backbone.stem=deep", *(f"model.{name}.{s}" for s in own)]

        def build(path=path, depth=depth):
            return real_mmseg.build(mmseg_settings(path, depth))
        yield case(f"mmsegmentation {name}_r{depth}", build, settings, "mmseg", seeds=SEEDS_OF_LARGE if depth == 50 else SEEDS)
        if name != "upernet":
            continue

        def with_torch_defaults(build=build):
            model = build()
            for module in model.modules():
                if isinstance(module, LAYERS):
                    module.reset_parameters()
            return model
        yield case(f"mmsegmentation {name}_r{depth}, layers reset", with_torch_defaults, [*settings, "model.init=torch"], "mmseg")


def segmenter_init(module):
    """init_weights of rstrudel/segmenter, segm/model/utils.py."""
    if isinstance(module, nn.Linear):
        trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)


def segmenters():
    width = make_vit.WIDTH
    common = ["model.name=segmenter", *(f"model.segmenter.{s}" for s in (
        f"width={width}", f"layers={make_vit.LAYERS}", f"heads={make_vit.HEADS}", f"patch={make_vit.PATCH}", "image_size=[40,48]",
        "decoder_layers=2"))]
    for decoder in ("mask", "linear"):
        def build(decoder=decoder):
            model = make_vit.Segmenter(make_vit.MaskDecoder() if decoder == "mask" else make_vit.LinearDecoder())
            model.apply(segmenter_init)
            free = [model.encoder.pos_embed, model.encoder.cls_token, *([model.decoder.cls_emb] if decoder == "mask" else [])]
            for value in free:
                trunc_normal_(value, std=0.02)
            for name in ("proj_patch", "proj_classes") if decoder == "mask" else ():
                getattr(model.decoder, name).data = width**-0.5 * torch.randn(width, width)
            return model
        yield case(f"rstrudel/segmenter {decoder}", build, [*common, f"model.segmenter.decoder={decoder}"], classes=make_vit.CLASSES)


def upernet_vits():
    width = 96
    vit = dict(img_size=64, patch_size=16, embed_dim=width, depth=4, num_heads=3, num_classes=0, global_pool="token", fc_norm=False)
    settings = ["model.name=upernet_vit", *(f"model.upernet_vit.{s}" for s in (
        f"width={width}", "layers=4", "heads=3", "patch=16", "image_size=64", "head.channels=64", "head.aux.channels=32"))]
    norm = dict(type="BN", requires_grad=True)

    def head(kind, **options):
        made = real_mmseg.MODELS.build(dict(type=kind, num_classes=CLASSES, norm_cfg=norm, **options))
        made.init_weights()
        return made

    for distilled in (False, True):
        def build(distilled=distilled):
            neck = real_mmseg.MODELS.build(dict(type="Feature2Pyramid", embed_dim=width, rescales=[4, 2, 1, 0.5], norm_cfg=norm))
            return [("backbone.vit.", (VisionTransformerDistilled if distilled else VisionTransformer)(**vit)),
                    ("backbone.up4.", neck.upsample_4x), ("backbone.up2.", neck.upsample_2x),
                    ("decode_head.", head("UPerHead", in_channels=[width] * 4, in_index=[0, 1, 2, 3], channels=64)),
                    ("auxiliary_head.", head("FCNHead", in_channels=width, in_index=2, channels=32, num_convs=1, concat_input=False))]
        yield case(f"timm {'deit, distilled' if distilled else 'vit'} under mmsegmentation's UPerHead", build,
                   [*settings, f"model.upernet_vit.distilled={'true' if distilled else 'false'}"])


def main(folder):
    families = (plain_unets, torchvision, smp_unet, mmsegmentation, segmenters, upernet_vits)
    # torch's normal numbers differ in their last bit between kinds of CPUs.
    out = {"tolerance": {"relative": 1e-5, "absolute": 1e-7}, "cases": [row for family in families for row in family()]}
    text = json.dumps(out, separators=(",", ":")).replace('{"name"', '\n{"name"')
    (pathlib.Path(folder) / "init.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
