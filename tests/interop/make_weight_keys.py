"""The state-dict keys and shapes of small models of the libraries whose weights we read, in weight_keys.json."""
import json
import pathlib
import sys

import segmentation_models_pytorch as smp
import timm
import torchvision
from timm.models.resnet import BasicBlock, ResNet

import real_mmseg


def main(folder):
    models = {
        "torchvision_resnet18": torchvision.models.resnet18(weights=None),
        "torchvision_fcn_resnet50": torchvision.models.segmentation.fcn_resnet50(
            weights=None, weights_backbone=None, aux_loss=True, num_classes=21),
        "timm_resnet_deep_stem": ResNet(BasicBlock, (1, 1, 1, 1), stem_type="deep", stem_width=32),
        "timm_vit_tiny": timm.create_model("vit_tiny_patch16_224", pretrained=False),
        "timm_deit_tiny_distilled": timm.create_model("deit_tiny_distilled_patch16_224", pretrained=False),
        "smp_unet_resnet18": smp.Unet("resnet18", encoder_weights=None, classes=5),
        "mmseg_segmenter_mask": real_mmseg.build(real_mmseg.model_settings(
            "segmenter/segmenter_vit-t_mask_8xb1-160k_ade20k-512x512.py", {"backbone": {"num_layers": 1}, "decode_head": {"num_layers": 1}})),
        "mmseg_vit_mln_upernet": real_mmseg.build(real_mmseg.model_settings(
            "vit/vit_vit-b16-ln_mln_upernet_8xb2-160k_ade20k-512x512.py", {"backbone": {"num_layers": 4, "out_indices": [0, 1, 2, 3]}})),
    }
    keys = {name: {key: list(value.shape) for key, value in model.state_dict().items()} for name, model in models.items()}
    pathlib.Path(folder, "weight_keys.json").write_text(json.dumps(keys, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
