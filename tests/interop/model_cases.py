"""The models of check_model_files.py: for each, the library's module, how to run it, the settings of ours, and what is written."""
from collections import OrderedDict

import segmentation_models_pytorch as smp
import timm
import timm.models.deit
import timm.models.vision_transformer
import torch
import torchvision.models as tv
from timm.layers import resample_abs_pos_embed
from torch import nn
from torchvision.models.segmentation import deeplabv3_resnet50, fcn_resnet50
from torchvision.models.segmentation.fcn import FCNHead

import make_vit
import real_mmseg as mmseg

CNN_SIZES = [(65, 49), (57, 71)]
CLASSES = 7


class Case:
    """parts: (layout, attribute of the module or "", prefix of its keys in that layout). wrap: how the .pth nests its weights."""

    def __init__(self, name, module, run, settings, parts, classes=CLASSES, sizes=CNN_SIZES, state=None, wrap=lambda state: state):
        self.name, self.module, self.run, self.settings, self.parts = name, module, run, settings, parts
        self.classes, self.sizes, self.wrap = classes, sizes, wrap
        self.state = state or (lambda: module.state_dict())


def prefixed(prefix):
    return lambda state: {"state_dict": OrderedDict((prefix + key, value) for key, value in state.items()), "epoch": 3}


def with_aux(model, x):
    features = model.backbone(x)
    logits = [model.classifier(features["out"])]
    return logits + [model.aux_classifier(features["aux"])] if model.training else logits


def whole_torchvision():
    no_dropout = ["dropout=0", "aux.dropout=0"]
    for name, make, extra in (("fcn", fcn_resnet50, []), ("deeplabv3", deeplabv3_resnet50, ["model.deeplabv3.aspp_dropout=0"])):
        model = make(weights=None, weights_backbone=None, num_classes=CLASSES, aux_loss=True)
        settings = [f"model.name={name}", "model.backbone.name=resnet50", *extra, *(f"model.{name}.{s}" for s in no_dropout)]
        yield Case(f"torchvision {name}_resnet50", model, with_aux, settings, [("torchvision", "", "")],
                   wrap=lambda state: {"model": state, "epoch": 3})


class OnResNet(nn.Module):
    """A classifier's ResNet under torchvision's FCN head."""

    def __init__(self, backbone, channels):
        super().__init__()
        self.backbone, self.classifier = backbone, FCNHead(channels, CLASSES)

    def forward(self, x):
        b = self.backbone
        x = (b.maxpool(b.act1(b.bn1(b.conv1(x)))) if hasattr(b, "act1") else b.maxpool(b.relu(b.bn1(b.conv1(x)))))
        return [self.classifier(b.layer4(b.layer3(b.layer2(b.layer1(x)))))]


def classifiers():
    """Files of whole classifiers, of which ours takes the backbone; the head of ours is brought over afterwards."""
    settings = ["model.name=fcn", "model.backbone.output_stride=32", "model.fcn.dropout=0", "model.fcn.aux.enabled=false"]
    deep = dict(stem_type="deep", stem_width=32)
    for name, make, extra, channels in (
            ("torchvision resnet50", lambda: tv.resnet50(weights=None), ["model.backbone.name=resnet50"], 2048),
            ("timm resnet18", lambda: timm.create_model("resnet18"), ["model.backbone.name=resnet18"], 512),
            ("timm resnet18, deep stem", lambda: timm.create_model("resnet18", **deep),
             ["model.backbone.name=resnet18", "model.backbone.stem=deep"], 512)):
        full = make()
        model = OnResNet(full, channels)
        fc = full.fc
        full.fc = nn.Identity()

        def state(full=full, fc=fc):
            return OrderedDict([*full.state_dict().items(), *(("fc." + k, v) for k, v in fc.state_dict().items())])
        yield Case(name, model, lambda m, x: m(x), settings + extra, [("timm", "backbone", ""), ("tessera", "classifier", "classifier.")],
                   state=state)


class OnVit(nn.Module):
    """A classifier's ViT under Segmenter's linear decoder."""

    def __init__(self, backbone, width, patch):
        super().__init__()
        self.backbone, self.head, self.patch = backbone, nn.Linear(width, CLASSES), patch

    def forward(self, x):
        tokens = self.backbone.forward_features(x)[:, self.backbone.num_prefix_tokens:]
        return [self.head(tokens).mT.unflatten(2, (x.shape[2] // self.patch, x.shape[3] // self.patch))]


def resample_as_given(embed, new_size, old_size=None, num_prefix_tokens=1, **_):
    """timm's resizing of position embeddings, but in the embeddings' own precision: timm computes in float32."""
    side = int((embed.shape[1] - num_prefix_tokens) ** 0.5)
    return make_vit.resized(embed, num_prefix_tokens, tuple(old_size or (side, side)), tuple(new_size), "bicubic")


def exact_positions():
    probe = torch.randn(1, 17, 8)
    theirs = resample_abs_pos_embed(probe, [3, 5], [4, 4], 1)
    assert (resample_as_given(probe, (3, 5), (4, 4), 1) - theirs).abs().max() < 1e-6, "timm resizes position embeddings otherwise"
    timm.models.vision_transformer.resample_abs_pos_embed = resample_as_given
    timm.models.deit.resample_abs_pos_embed = resample_as_given


def transformers():
    exact_positions()
    settings = ["model.name=segmenter", "model.segmenter.backbone=vit_ti16", "model.segmenter.layers=2", "model.segmenter.image_size=[64,64]",
                "model.segmenter.decoder=linear", "model.segmenter.position_resize=bicubic", "model.segmenter.drop_path=0"]
    for name, extra in (("vit_tiny_patch16_224", []), ("deit_tiny_distilled_patch16_224", ["model.segmenter.distilled=true"])):
        options = dict(img_size=64, depth=2, dynamic_img_size=True)
        full = timm.create_model(name, **options)
        heads = {k: v for k, v in full.state_dict().items() if k.startswith("head")}
        full.reset_classifier(0)
        model = OnVit(full, 192, 16)

        def state(full=full, heads=heads):
            return OrderedDict([*full.state_dict().items(), *heads.items()])
        yield Case(f"timm {name}", model, lambda m, x: m(x), settings + extra, [("timm", "backbone", ""), ("tessera", "head", "decoder.head.")],
                   sizes=[(64, 64), (48, 80)], state=state, wrap=lambda state: {"model": state})


def unet():
    model = smp.Unet("resnet18", encoder_weights=None, classes=CLASSES)
    yield Case("smp Unet resnet18", model, lambda m, x: [m.segmentation_head(m.decoder(m.encoder(x)))],
               ["model.name=unet_resnet", "model.backbone.name=resnet18"], [("smp", "", "")], wrap=prefixed("model."))


def mmsegmentation():
    """Models of mmsegmentation's own configs, as they are but for dropout. Those of its R18 say all that those of its R50 do in less
    time; DeepLabV3+ comes in the form that its ADE20K results are of. The configs for 769 x 769 align corners."""
    still = {"dropout_ratio": 0}
    deep = ["model.backbone.stem=deep"]
    r18 = ["model.backbone.name=resnet18", *deep]
    cases = [
        ("pspnet", "pspnet_r18-d8_4xb2-80k_cityscapes-769x769", 19, r18, ["channels=128", "align_corners=true", "aux.channels=64"]),
        ("upernet", "upernet_r18_4xb4-80k_ade20k-512x512", 150, r18, ["channels=512"]),
        ("deeplabv3", "deeplabv3_r18-d8_4xb2-80k_cityscapes-512x1024", 19, r18, ["layout=mmseg", "channels=128", "aux.channels=64"]),
        ("deeplabv3plus", "deeplabv3plus_r50-d8_4xb4-80k_ade20k-512x512", 150, deep, []),
        ("fcn", "fcn_r18-d8_4xb2-80k_cityscapes-512x1024", 19, r18, ["layout=mmseg", "channels=128", "aux.channels=64"]),
    ]
    for name, config, classes, backbone, own in cases:
        module = mmseg.build(mmseg.model_settings(f"{name}/{config}.py", {"decode_head": still, "auxiliary_head": still}))
        own = [*own, "dropout=0", "aux.enabled=true", "aux.dropout=0"]
        settings = [f"model.name={name}", *backbone, *(f"model.{name}.{s}" for s in own)]
        yield Case(f"mmsegmentation {name}", module, mmseg.logits, settings, [("mmseg", "", "")], classes=classes,
                   wrap=prefixed("module." if name == "pspnet" else ""))


def mmseg_segmenters():
    """Its Segmenters, with position embeddings for a smaller image: 64 x 80, and one that they are resized for."""
    image = {"img_size": (64, 80), "drop_path_rate": 0}
    settings = ["model.name=segmenter", *(f"model.segmenter.{s}" for s in (
        "image_size=[64,80]", "position_resize=bicubic_plain", "drop_path=0", "decoder_dropout=0"))]
    for decoder, config, backbone, head in (("mask", "segmenter_vit-t_mask", "vit_ti16", {"drop_path_rate": 0}),
                                            ("linear", "segmenter_vit-s_fcn", "vit_s16", {})):
        path = f"segmenter/{config}_8xb1-160k_ade20k-512x512.py"
        module = mmseg.build(mmseg.model_settings(path, {"backbone": image, "decode_head": head}))
        yield Case(f"mmsegmentation Segmenter {decoder}", module, mmseg.logits,
                   [*settings, f"model.segmenter.decoder={decoder}", f"model.segmenter.backbone={backbone}"], [("mmseg", "", "")],
                   classes=150, sizes=[(64, 80), (48, 112)], wrap=prefixed(""))


def segmenters():
    sizes = [(40, 48), (48, 72)]
    width, layers, heads, patch = make_vit.WIDTH, make_vit.LAYERS, make_vit.HEADS, make_vit.PATCH
    common = ["model.name=segmenter", *(f"model.segmenter.{s}" for s in (
        f"width={width}", f"layers={layers}", f"heads={heads}", f"patch={patch}", "image_size=[40,48]", "norm_eps=1e-5", "drop_path=0",
        "decoder_dropout=0", "decoder_layers=2"))]
    for decoder in ("mask", "linear"):
        settings = [*common, f"model.segmenter.decoder={decoder}"]
        model = make_vit.Segmenter(make_vit.MaskDecoder() if decoder == "mask" else make_vit.LinearDecoder())
        model.encoder.head = nn.Linear(width, 1000)  # its ViT keeps the head it never uses
        yield Case(f"rstrudel/segmenter {decoder}", model, lambda m, x: [m.masks(x)], settings, [("segmenter", "", "")],
                   classes=make_vit.CLASSES, sizes=sizes, wrap=lambda state: {"model": state})


def all_cases():
    for family in (whole_torchvision, classifiers, transformers, unet, mmsegmentation, mmseg_segmenters, segmenters):
        yield from family()
