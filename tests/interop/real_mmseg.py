"""mmsegmentation itself, as installed by scripts/interop-venv, and its models from its own configs.

mmsegmentation 1.2.2 asks for an mmcv below 2.2 with compiled operators. mmcv-lite 2.2 has neither that number nor those: the
number is changed while mmseg looks at it, and the operators are names only, which none of these models calls."""
import copy
import importlib
import logging
import pathlib
import sys
import types
import warnings

import torch


class NotCompiled(types.ModuleType):
    """mmcv._ext without its operators: every name is there, so that imports go through, and none can be called."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def operator(*_, **__):
            raise NotImplementedError(f"mmcv's compiled operator {name} is not part of mmcv-lite")
        return operator


def imported():
    warnings.filterwarnings("ignore", category=UserWarning, module="mm(cv|engine|seg)")
    sys.modules["mmcv._ext"] = NotCompiled("mmcv._ext")
    mmcv = importlib.import_module("mmcv")
    version, mmcv.__version__ = mmcv.__version__, "2.1.0"
    try:
        mmseg = importlib.import_module("mmseg")
        importlib.import_module("mmseg.models")
    finally:
        mmcv.__version__ = version
    return mmseg


mmseg = imported()
importlib.import_module("mmengine.logging").MMLogger.get_current_instance().setLevel(logging.WARNING)  # a line per parameter
Config = importlib.import_module("mmengine.config").Config
MODELS = importlib.import_module("mmseg.registry").MODELS
CONFIGS = pathlib.Path(mmseg.__file__).parent / ".mim/configs"


def changed(settings, change):
    """Settings with those of `change` put over them; lists and plain values are replaced."""
    for key, value in change.items():
        settings[key] = changed(settings.get(key) or {}, value) if isinstance(value, dict) else value
    return settings


def model_settings(path, change=None):
    """The model of one of mmsegmentation's configs, e.g. "pspnet/pspnet_r50-d8_4xb4-80k_ade20k-512x512.py"."""
    settings = Config.fromfile(CONFIGS / path).model.to_dict()
    return changed(settings, change or {})


def on_one_process(settings):
    """The same without downloads, and with batch norm of one process in place of the synchronised one."""
    if isinstance(settings, dict):
        kept = {key: on_one_process(value) for key, value in settings.items() if key not in ("pretrained", "data_preprocessor")}
        return {**kept, "type": "BN"} if kept.get("type") == "SyncBN" else kept
    return type(settings)(map(on_one_process, settings)) if isinstance(settings, (list, tuple)) else settings


def build(settings: dict) -> torch.nn.Module:
    """A segmentor of mmsegmentation from the `model` of a config of its, with the library's own starting weights."""
    model = MODELS.build(on_one_process(copy.deepcopy(settings)))
    model.init_weights()
    return model


def logits(model, image):
    """The decode head's scores before they are resized to the image, and the auxiliary head's while training."""
    features = model.extract_feat(image)
    heads = [model.decode_head, *([model.auxiliary_head] if model.training and model.with_auxiliary_head else [])]
    return [head(features) for head in heads]
