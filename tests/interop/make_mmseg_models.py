"""Models with mmsegmentation's heads (mmseg_reference.py): logits, gradients and batch norm statistics.

Heads are narrow (32 to 64 channels) where width changes nothing but time."""
import sys

import mmseg_reference as mmseg
from model_fixture import record, write

BINS, DILATIONS = (1, 2, 3, 6), (12, 24, 36)


def run(model, x):
    return model(x)


def aux(stages):
    return mmseg.FcnHead(stages[2], 32, 7, 2)


def cases():
    r18, r50 = mmseg.R18, mmseg.R50
    deep = mmseg.with_deep_stem(mmseg.resnet50_d8(), 128)
    yield "pspnet", mmseg.Segmentor(deep, mmseg.PspHead(r50, 48, 7, BINS), aux(r50))
    yield "upernet", mmseg.Segmentor(mmseg.resnet18(), mmseg.UperHead(r18, 32, 7, (1, 2, 4, 6)), aux(r18))
    yield "deeplabv3", mmseg.Segmentor(mmseg.resnet18(), mmseg.AsppHead(r18, 64, 7, (6, 12, 18)), aux(r18))
    yield "deeplabv3plus", mmseg.Segmentor(mmseg.resnet50_d8(), mmseg.SeparableAsppHead(r50, 512, 150, DILATIONS, 48))
    plain = mmseg.SeparableAsppHead(r18, 64, 7, DILATIONS, 48, lambda i, o, d: mmseg.ConvModule(i, o, 3, d))
    yield "deeplabv3plus_plain_bottleneck", mmseg.Segmentor(mmseg.resnet18(), plain, aux(r18))
    yield "fcn", mmseg.Segmentor(mmseg.resnet18(), mmseg.FcnHead(r18[3], 64, 7, 3, convs=2, concat=True), aux(r18))


def main(folder):
    write(folder, "mmseg_models", {name: record(model, run) for name, model in cases()})


if __name__ == "__main__":
    main(sys.argv[1])
