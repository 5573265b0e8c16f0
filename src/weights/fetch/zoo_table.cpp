// The names that model.pretrained knows. tests/interop/check_zoo.py holds this table to torchvision's and timm's own.
#include <array>

#include "weights/fetch/zoo.h"

namespace tessera {
namespace {

constexpr std::string_view kTorch = "https://download.pytorch.org/models/";
constexpr std::string_view kAugreg = "https://storage.googleapis.com/vit_models/augreg/";
constexpr std::string_view kMeta = "https://dl.fbaipublicfiles.com/";
constexpr std::string_view kDeit = "https://dl.fbaipublicfiles.com/deit/";
constexpr std::string_view kTimm = "https://github.com/huggingface/pytorch-image-models/releases/download/";
constexpr std::string_view kTimmOld = "https://github.com/rwightman/pytorch-image-models/releases/download/";
constexpr std::string_view kGluon = "https://github.com/rwightman/pytorch-pretrained-gluonresnet/releases/download/v0.1/";

// One line each, so that they can be looked over.
// clang-format off
constexpr std::array<ZooEntry, 73> kZoo{{
    // ResNets trained on ImageNet by torchvision.
    {"resnet18.imagenet1k_v1", kTorch, "resnet18-f37072fd.pth", "torchvision resnet18 IMAGENET1K_V1", "model.backbone.name=resnet18"},
    {"resnet34.imagenet1k_v1", kTorch, "resnet34-b627a593.pth", "torchvision resnet34 IMAGENET1K_V1", "model.backbone.name=resnet34"},
    {"resnet50.imagenet1k_v1", kTorch, "resnet50-0676ba61.pth", "torchvision resnet50 IMAGENET1K_V1", "model.backbone.name=resnet50"},
    {"resnet50.imagenet1k_v2", kTorch, "resnet50-11ad3fa6.pth", "torchvision resnet50 IMAGENET1K_V2", "model.backbone.name=resnet50"},
    {"resnet101.imagenet1k_v1", kTorch, "resnet101-63fe2227.pth", "torchvision resnet101 IMAGENET1K_V1", "model.backbone.name=resnet101"},
    {"resnet101.imagenet1k_v2", kTorch, "resnet101-cd907fc2.pth", "torchvision resnet101 IMAGENET1K_V2", "model.backbone.name=resnet101"},
    {"resnet152.imagenet1k_v1", kTorch, "resnet152-394f9c45.pth", "torchvision resnet152 IMAGENET1K_V1", "model.backbone.name=resnet152"},
    {"resnet152.imagenet1k_v2", kTorch, "resnet152-f82ba261.pth", "torchvision resnet152 IMAGENET1K_V2", "model.backbone.name=resnet152"},
    {"resnext50_32x4d.imagenet1k_v1", kTorch, "resnext50_32x4d-7cdf4587.pth", "torchvision resnext50_32x4d IMAGENET1K_V1", "model.backbone.name=resnext50_32x4d"},
    {"resnext50_32x4d.imagenet1k_v2", kTorch, "resnext50_32x4d-1a0047aa.pth", "torchvision resnext50_32x4d IMAGENET1K_V2", "model.backbone.name=resnext50_32x4d"},
    {"resnext101_32x8d.imagenet1k_v1", kTorch, "resnext101_32x8d-8ba56ff5.pth", "torchvision resnext101_32x8d IMAGENET1K_V1", "model.backbone.name=resnext101_32x8d"},
    {"resnext101_32x8d.imagenet1k_v2", kTorch, "resnext101_32x8d-110c445d.pth", "torchvision resnext101_32x8d IMAGENET1K_V2", "model.backbone.name=resnext101_32x8d"},
    {"wide_resnet50_2.imagenet1k_v1", kTorch, "wide_resnet50_2-95faca4d.pth", "torchvision wide_resnet50_2 IMAGENET1K_V1", "model.backbone.name=wide_resnet50_2"},
    {"wide_resnet50_2.imagenet1k_v2", kTorch, "wide_resnet50_2-9ba9bcbe.pth", "torchvision wide_resnet50_2 IMAGENET1K_V2", "model.backbone.name=wide_resnet50_2"},
    {"wide_resnet101_2.imagenet1k_v1", kTorch, "wide_resnet101_2-32ee1156.pth", "torchvision wide_resnet101_2 IMAGENET1K_V1", "model.backbone.name=wide_resnet101_2"},
    {"wide_resnet101_2.imagenet1k_v2", kTorch, "wide_resnet101_2-d733dc28.pth", "torchvision wide_resnet101_2 IMAGENET1K_V2", "model.backbone.name=wide_resnet101_2"},
    // Whole segmentation models of torchvision, trained on COCO with the 21 classes of Pascal VOC.
    {"deeplabv3_resnet50.coco_with_voc_labels_v1", kTorch, "deeplabv3_resnet50_coco-cd0a2569.pth", "torchvision deeplabv3_resnet50 COCO_WITH_VOC_LABELS_V1", "model.name=deeplabv3 model.backbone.name=resnet50"},
    {"deeplabv3_resnet101.coco_with_voc_labels_v1", kTorch, "deeplabv3_resnet101_coco-586e9e4e.pth", "torchvision deeplabv3_resnet101 COCO_WITH_VOC_LABELS_V1", "model.name=deeplabv3 model.backbone.name=resnet101"},
    {"fcn_resnet50.coco_with_voc_labels_v1", kTorch, "fcn_resnet50_coco-1167a1af.pth", "torchvision fcn_resnet50 COCO_WITH_VOC_LABELS_V1", "model.name=fcn model.backbone.name=resnet50"},
    {"fcn_resnet101.coco_with_voc_labels_v1", kTorch, "fcn_resnet101_coco-7ecb50ca.pth", "torchvision fcn_resnet101 COCO_WITH_VOC_LABELS_V1", "model.name=fcn model.backbone.name=resnet101"},
    // ResNets of timm: recipe A1, semi-weakly supervised, and with a deep stem (MXNet's).
    {"resnet18.a1_in1k", kTimm, "v0.1-rsb-weights/resnet18_a1_0-d63eafa0.pth", "timm resnet18.a1_in1k", "model.backbone.name=resnet18"},
    {"resnet34.a1_in1k", kTimm, "v0.1-rsb-weights/resnet34_a1_0-46f8f793.pth", "timm resnet34.a1_in1k", "model.backbone.name=resnet34"},
    {"resnet50.a1_in1k", kTimmOld, "v0.1-rsb-weights/resnet50_a1_0-14fe96d1.pth", "timm resnet50.a1_in1k", "model.backbone.name=resnet50"},
    {"resnet101.a1_in1k", kTimm, "v0.1-rsb-weights/resnet101_a1_0-cdcb52a9.pth", "timm resnet101.a1_in1k", "model.backbone.name=resnet101"},
    {"resnet152.a1_in1k", kTimm, "v0.1-rsb-weights/resnet152_a1_0-2eee8a7a.pth", "timm resnet152.a1_in1k", "model.backbone.name=resnet152"},
    {"resnext50_32x4d.a1_in1k", kTimm, "v0.1-rsb-weights/resnext50_32x4d_a1_0-b5a91a1d.pth", "timm resnext50_32x4d.a1_in1k", "model.backbone.name=resnext50_32x4d"},
    {"resnet18.fb_swsl_ig1b_ft_in1k", kMeta, "semiweaksupervision/model_files/semi_weakly_supervised_resnet18-118f1556.pth", "timm resnet18.fb_swsl_ig1b_ft_in1k", "model.backbone.name=resnet18"},
    {"resnet50.fb_swsl_ig1b_ft_in1k", kMeta, "semiweaksupervision/model_files/semi_weakly_supervised_resnet50-16a12f1b.pth", "timm resnet50.fb_swsl_ig1b_ft_in1k", "model.backbone.name=resnet50"},
    {"resnext50_32x4d.fb_swsl_ig1b_ft_in1k", kMeta, "semiweaksupervision/model_files/semi_weakly_supervised_resnext50_32x4-72679e44.pth", "timm resnext50_32x4d.fb_swsl_ig1b_ft_in1k", "model.backbone.name=resnext50_32x4d"},
    {"resnext101_32x8d.fb_swsl_ig1b_ft_in1k", kMeta, "semiweaksupervision/model_files/semi_weakly_supervised_resnext101_32x8-b4712904.pth", "timm resnext101_32x8d.fb_swsl_ig1b_ft_in1k", "model.backbone.name=resnext101_32x8d"},
    {"resnet50_deep_stem.gluon_in1k", kGluon, "gluon_resnet50_v1c-48092f55.pth", "timm resnet50c.gluon_in1k", "model.backbone.name=resnet50 model.backbone.stem=deep"},
    {"resnet101_deep_stem.gluon_in1k", kGluon, "gluon_resnet101_v1c-1f26822a.pth", "timm resnet101c.gluon_in1k", "model.backbone.name=resnet101 model.backbone.stem=deep"},
    {"resnet152_deep_stem.gluon_in1k", kGluon, "gluon_resnet152_v1c-a3bb0b98.pth", "timm resnet152c.gluon_in1k", "model.backbone.name=resnet152 model.backbone.stem=deep"},
    // ViT of "How to train your ViT", as Flax writes them. No checksums are published.
    {"vit_ti16.augreg_in21k", kAugreg, "Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0.npz", "timm vit_tiny_patch16_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_ti16"},
    {"vit_ti16.augreg_in21k_ft_in1k", kAugreg, "Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_224.npz", "timm vit_tiny_patch16_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_ti16"},
    {"vit_ti16.augreg_in21k_ft_in1k_384", kAugreg, "Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_384.npz", "timm vit_tiny_patch16_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_ti16"},
    {"vit_s16.augreg_in1k", kAugreg, "S_16-i1k-300ep-lr_0.001-aug_medium2-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_small_patch16_224.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_s16.augreg_in1k_384", kAugreg, "S_16-i1k-300ep-lr_0.001-aug_medium2-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_384.npz", "timm vit_small_patch16_384.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_s16.augreg_in21k", kAugreg, "S_16-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0.npz", "timm vit_small_patch16_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_s16.augreg_in21k_ft_in1k", kAugreg, "S_16-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_224.npz", "timm vit_small_patch16_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_s16.augreg_in21k_ft_in1k_384", kAugreg, "S_16-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_384.npz", "timm vit_small_patch16_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_s32.augreg_in21k", kAugreg, "S_32-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0.npz", "timm vit_small_patch32_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_s32"},
    {"vit_s32.augreg_in21k_ft_in1k", kAugreg, "S_32-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_224.npz", "timm vit_small_patch32_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_s32"},
    {"vit_s32.augreg_in21k_ft_in1k_384", kAugreg, "S_32-i21k-300ep-lr_0.001-aug_light1-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_384.npz", "timm vit_small_patch32_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_s32"},
    {"vit_b8.augreg_in21k", kAugreg, "B_8-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0.npz", "timm vit_base_patch8_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_b8"},
    {"vit_b8.augreg_in21k_ft_in1k", kAugreg, "B_8-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_base_patch8_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_b8"},
    {"vit_b16.augreg_in1k", kAugreg, "B_16-i1k-300ep-lr_0.001-aug_strong2-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_base_patch16_224.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b16.augreg_in1k_384", kAugreg, "B_16-i1k-300ep-lr_0.001-aug_strong2-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_384.npz", "timm vit_base_patch16_384.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b16.augreg_in21k", kAugreg, "B_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0.npz", "timm vit_base_patch16_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b16.augreg_in21k_ft_in1k", kAugreg, "B_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_base_patch16_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b16.augreg_in21k_ft_in1k_384", kAugreg, "B_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.01-res_384.npz", "timm vit_base_patch16_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b32.augreg_in1k", kAugreg, "B_32-i1k-300ep-lr_0.001-aug_medium2-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_base_patch32_224.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_b32"},
    {"vit_b32.augreg_in1k_384", kAugreg, "B_32-i1k-300ep-lr_0.001-aug_medium2-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_384.npz", "timm vit_base_patch32_384.augreg_in1k", "model.name=segmenter model.segmenter.backbone=vit_b32"},
    {"vit_b32.augreg_in21k", kAugreg, "B_32-i21k-300ep-lr_0.001-aug_medium1-wd_0.03-do_0.0-sd_0.0.npz", "timm vit_base_patch32_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_b32"},
    {"vit_b32.augreg_in21k_ft_in1k", kAugreg, "B_32-i21k-300ep-lr_0.001-aug_medium1-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_224.npz", "timm vit_base_patch32_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_b32"},
    {"vit_b32.augreg_in21k_ft_in1k_384", kAugreg, "B_32-i21k-300ep-lr_0.001-aug_light1-wd_0.1-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_384.npz", "timm vit_base_patch32_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_b32"},
    {"vit_l16.augreg_in21k", kAugreg, "L_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.1-sd_0.1.npz", "timm vit_large_patch16_224.augreg_in21k", "model.name=segmenter model.segmenter.backbone=vit_l16"},
    {"vit_l16.augreg_in21k_ft_in1k", kAugreg, "L_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_224.npz", "timm vit_large_patch16_224.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_l16"},
    {"vit_l16.augreg_in21k_ft_in1k_384", kAugreg, "L_16-i21k-300ep-lr_0.001-aug_medium1-wd_0.1-do_0.1-sd_0.1--imagenet2012-steps_20k-lr_0.01-res_384.npz", "timm vit_large_patch16_384.augreg_in21k_ft_in1k", "model.name=segmenter model.segmenter.backbone=vit_l16"},
    // ViT trained without labels: DINO and MAE. No checksums are published.
    {"vit_s8.dino", kMeta, "dino/dino_deitsmall8_pretrain/dino_deitsmall8_pretrain.pth", "timm vit_small_patch8_224.dino", "model.name=segmenter model.segmenter.backbone=vit_s8"},
    {"vit_s16.dino", kMeta, "dino/dino_deitsmall16_pretrain/dino_deitsmall16_pretrain.pth", "timm vit_small_patch16_224.dino", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"vit_b8.dino", kMeta, "dino/dino_vitbase8_pretrain/dino_vitbase8_pretrain.pth", "timm vit_base_patch8_224.dino", "model.name=segmenter model.segmenter.backbone=vit_b8"},
    {"vit_b16.dino", kMeta, "dino/dino_vitbase16_pretrain/dino_vitbase16_pretrain.pth", "timm vit_base_patch16_224.dino", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_b16.mae", kMeta, "mae/pretrain/mae_pretrain_vit_base.pth", "timm vit_base_patch16_224.mae", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"vit_l16.mae", kMeta, "mae/pretrain/mae_pretrain_vit_large.pth", "timm vit_large_patch16_224.mae", "model.name=segmenter model.segmenter.backbone=vit_l16"},
    // DeiT.
    {"deit_ti16.fb_in1k", kDeit, "deit_tiny_patch16_224-a1311bcf.pth", "timm deit_tiny_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_ti16"},
    {"deit_ti16_distilled.fb_in1k", kDeit, "deit_tiny_distilled_patch16_224-b40b3cf7.pth", "timm deit_tiny_distilled_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_ti16 model.segmenter.distilled=true"},
    {"deit_s16.fb_in1k", kDeit, "deit_small_patch16_224-cd65a155.pth", "timm deit_small_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16"},
    {"deit_s16_distilled.fb_in1k", kDeit, "deit_small_distilled_patch16_224-649709d9.pth", "timm deit_small_distilled_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_s16 model.segmenter.distilled=true"},
    {"deit_b16.fb_in1k", kDeit, "deit_base_patch16_224-b5f2ef4d.pth", "timm deit_base_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"deit_b16.fb_in1k_384", kDeit, "deit_base_patch16_384-8de9b5d1.pth", "timm deit_base_patch16_384.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16"},
    {"deit_b16_distilled.fb_in1k", kDeit, "deit_base_distilled_patch16_224-df68dfff.pth", "timm deit_base_distilled_patch16_224.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16 model.segmenter.distilled=true"},
    {"deit_b16_distilled.fb_in1k_384", kDeit, "deit_base_distilled_patch16_384-d0272ac0.pth", "timm deit_base_distilled_patch16_384.fb_in1k", "model.name=segmenter model.segmenter.backbone=vit_b16 model.segmenter.distilled=true"},
}};

// The whole SHA-256 of files whose names carry its first eight digits, where two public projects at least that fetched the file and
// summed it say the same. What is not here is not known for sure.
constexpr std::array<std::string_view, 11> kWholeSums{
    "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",  // resnet18.imagenet1k_v1
    "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f",  // resnet34.imagenet1k_v1
    "0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",  // resnet50.imagenet1k_v1
    "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca",  // resnet50.imagenet1k_v2
    "63fe2227b86e8f1f2063f43a75c84d195911b6a0eace650907dd3dc62dd49a0a",  // resnet101.imagenet1k_v1
    "cd907fc2a0de2292b2ba2b27d2216bc672d84632d1cf20058d01c0c03b5e020e",  // resnet101.imagenet1k_v2
    "394f9c45966e3651a89bbb78a48410a6755854ce4a5ab64927cf1c7247f85e58",  // resnet152.imagenet1k_v1
    "95faca4d11227dddf8633dbb5ff6c8a9003c1aa5b8945c73834b8007b10950b8",  // wide_resnet50_2.imagenet1k_v1
    "cd0a25694c4a0f7106b38f4938bf90a874f2f241cc410b8f63c7024399538f06",  // deeplabv3_resnet50.coco_with_voc_labels_v1
    "586e9e4e203fcbf17e1ad45533d8d33ab133fc762bf03101c5dd743995c08c0d",  // deeplabv3_resnet101.coco_with_voc_labels_v1
    "d63eafa07a6e32a39d328e364f8c9f89d671444ecc7f02aa0f7eb8882af3dd29",  // resnet18.a1_in1k
};
// clang-format on

}  // namespace

std::span<const ZooEntry> zoo() {
  return kZoo;
}

std::span<const std::string_view> whole_sums() {
  return kWholeSums;
}

}  // namespace tessera
