"""Vision transformers of timm and a Segmenter written from its published description, on weights and images that both sides
make from integers: outputs, sampled gradients of every parameter, resized position embeddings, attention maps.

Everything is float64. timm resizes position embeddings in float32, so the float64 models are built at the input's grid and get
embeddings resized outside by the same interpolation, which is checked against timm's own function.
"""
import json
import pathlib
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from timm.layers import resample_abs_pos_embed
from timm.models.deit import VisionTransformerDistilled
from timm.models.vision_transformer import VisionTransformer

import real_mmseg

WIDTH, LAYERS, HEADS, PATCH, CLASSES = 48, 2, 3, 8, 5
OWN = (40, 48)  # the size position embeddings belong to
SIZES = [(37, 50), (21, 67)]  # no multiples of the patch
SAMPLES = 4


def made(shape, index, scale):
    """Values in [-scale/2, scale/2) from the position alone."""
    i = torch.arange(int(torch.tensor(shape).prod()))
    return (((i * 2654435761 + index * 40503) % 2003).double() / 2003 - 0.5).mul(scale).view(*shape)


def fill(model, parameters):
    """Parameters in order of their names; norms lie around 1, the mask decoder's products are kept apart by a larger scale."""
    with torch.no_grad():
        for index, (name, value) in enumerate(sorted(parameters.items())):
            one = 1.0 if value.dim() == 1 and name.endswith("weight") else 0.0
            value.copy_(one + made(tuple(value.shape), index, 0.5))


def image(size):
    return made((2, 3, *size), 7, 4.0)


def padded(x):
    h, w = x.shape[2:]
    return F.pad(x, (0, -w % PATCH, 0, -h % PATCH))


def resized(embed, prefix, old, new, mode):
    grid = embed[:, prefix:].reshape(1, *old, -1).permute(0, 3, 1, 2)
    grid = F.interpolate(grid, size=new, mode=mode, antialias=mode == "bicubic")
    return torch.cat([embed[:, :prefix], grid.permute(0, 2, 3, 1).flatten(1, 2)], 1)


def picked(values, count):
    """`count` values spread evenly, with the norm: (i * numel) // count."""
    flat = values.detach().flatten()
    count = min(count, flat.numel())
    return {"shape": list(values.shape), "norm": flat.norm().item(),
            "values": [flat[i * flat.numel() // count].item() for i in range(count)]}


def backward(output, parameters):
    """Gradients of a weighted sum of all outputs."""
    (output * made(tuple(output.shape), 3, 2.0)).sum().backward()
    gradients = {name: picked(value.grad, SAMPLES) for name, value in sorted(parameters.items())}
    for value in parameters.values():
        value.grad = None
    return gradients


def timm_cases():
    old = (OWN[0] // PATCH, OWN[1] // PATCH)
    for distilled in (False, True):
        kind = VisionTransformerDistilled if distilled else VisionTransformer
        prefix = 2 if distilled else 1

        def build(size):
            return kind(img_size=size, patch_size=PATCH, embed_dim=WIDTH, depth=LAYERS, num_heads=HEADS, num_classes=0,
                        global_pool="token", fc_norm=False).double().eval()
        own = build(OWN)
        parameters = {n: p for n, p in own.named_parameters()}
        fill(own, parameters)
        for size in SIZES:
            x = padded(image(size))
            new = (x.shape[2] // PATCH, x.shape[3] // PATCH)
            here = build(x.shape[2:])
            weights = dict(parameters, pos_embed=resized(parameters["pos_embed"], prefix, old, new, "bicubic"))
            output = torch.func.functional_call(Features(here), {f"model.{k}": v for k, v in weights.items()}, (x,))
            yield {"distilled": distilled, "size": size, "tokens": picked(output, 120),
                   "gradients": backward(output, parameters)}


class Features(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model.forward_features(x)


class Layer(nn.Module):
    """A pre-norm transformer layer: x + attention(norm(x)), x + mlp(norm(x)); epsilon 1e-5."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(width, 3 * width), "proj": nn.Linear(width, width)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(width, 4 * width), "fc2": nn.Linear(4 * width, width)})

    def split(self, x):
        n, t, width = x.shape
        return [part.view(n, t, self.heads, width // self.heads).transpose(1, 2)
                for part in self.attn["qkv"](self.norm1(x)).chunk(3, -1)]

    def attention(self, x):
        q, k, _ = self.split(x)
        return torch.softmax(torch.einsum("nhtd,nhsd->nhts", q, k) / q.shape[-1] ** 0.5, -1)

    def forward(self, x):
        mixed = torch.einsum("nhts,nhsd->nthd", self.attention(x), self.split(x)[2]).flatten(2)
        x = x + self.attn["proj"](mixed)
        return x + self.mlp["fc2"](F.gelu(self.mlp["fc1"](self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, WIDTH, PATCH, PATCH)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.grid = (OWN[0] // PATCH, OWN[1] // PATCH)
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + self.grid[0] * self.grid[1], WIDTH))
        self.blocks = nn.ModuleList(Layer(WIDTH, HEADS) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)

    def embed(self, x):
        tokens = self.patch_embed["proj"](x)
        positions = resized(self.pos_embed, 1, self.grid, tuple(tokens.shape[2:]), "bilinear")
        return torch.cat([self.cls_token.expand(len(x), -1, -1), tokens.flatten(2).mT], 1) + positions

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class MaskDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Layer(WIDTH, HEADS) for _ in range(2))
        self.cls_emb = nn.Parameter(torch.zeros(1, CLASSES, WIDTH))
        self.proj_dec = nn.Linear(WIDTH, WIDTH)
        self.proj_patch = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self.proj_classes = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self.decoder_norm, self.mask_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(CLASSES)

    def join(self, tokens):
        return torch.cat([self.proj_dec(tokens), self.cls_emb.expand(len(tokens), -1, -1)], 1)

    def forward(self, tokens):
        x = self.join(tokens)
        for block in self.blocks:
            x = block(x)
        patches, classes = self.decoder_norm(x).split([tokens.shape[1], CLASSES], 1)
        cosine = F.normalize(patches @ self.proj_patch, dim=-1) @ F.normalize(classes @ self.proj_classes, dim=-1).mT
        return self.mask_norm(cosine)


class Segmenter(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.encoder, self.decoder = Encoder(), decoder

    def masks(self, x):
        logits = self.decoder(self.encoder(x)[:, 1:])
        return logits.mT.unflatten(2, (x.shape[2] // PATCH, x.shape[3] // PATCH))

    def forward(self, image):
        x = padded(image)
        full = F.interpolate(self.masks(x), size=x.shape[2:], mode="bilinear", align_corners=False)
        return full[:, :, : image.shape[2], : image.shape[3]]


class LinearDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens):
        return self.head(tokens)


def segmenter_cases():
    for decoder in ("linear", "mask"):
        model = Segmenter(MaskDecoder() if decoder == "mask" else LinearDecoder()).double()
        parameters = dict(model.named_parameters())
        fill(model, parameters)
        for size in SIZES:
            output = model(image(size))
            case = {"decoder": decoder, "size": size, "logits": picked(output, 120), "gradients": backward(output, parameters)}
            with torch.no_grad():
                x = padded(image(size))
                case["masks"] = picked(model.masks(x), 60)
                case["encoder_attention"] = picked(model.encoder.blocks[1].attention(
                    model.encoder.blocks[0](model.encoder.embed(x))), 60)
                if decoder == "mask":
                    tokens = model.decoder.join(model.encoder(x)[:, 1:])
                    case["decoder_attention"] = picked(model.decoder.blocks[1].attention(model.decoder.blocks[0](tokens)), 60)
            yield case


def position_cases():
    for old, new, prefix in (((5, 6), (7, 3), 1), ((4, 4), (9, 11), 2), ((12, 10), (5, 6), 1)):
        embed = made((1, prefix + old[0] * old[1], 8), 11, 2.0)
        bicubic = resized(embed, prefix, old, new, "bicubic")
        theirs = resample_abs_pos_embed(embed, list(new), list(old), prefix)
        assert (bicubic - theirs).abs().max() < 1e-6, "timm resizes position embeddings in another way"
        # mmsegmentation's own function knows no second token in front of the grid.
        alone = torch.cat([embed[:, :1], embed[:, prefix:]], 1)
        plain = real_mmseg.MODELS.get("VisionTransformer").resize_pos_embed(alone, new, old, "bicubic")
        plain = torch.cat([embed[:, :prefix], plain[:, 1:]], 1)
        yield {"from": old, "to": new, "prefix": prefix, "bicubic": picked(bicubic, 80),
               "bilinear": picked(resized(embed, prefix, old, new, "bilinear"), 80), "bicubic_plain": picked(plain, 80)}


def main(folder):
    out = {"width": WIDTH, "layers": LAYERS, "heads": HEADS, "patch": PATCH, "classes": CLASSES, "own": OWN,
           "timm": list(timm_cases()), "segmenter": list(segmenter_cases()), "positions": list(position_cases())}
    (pathlib.Path(folder) / "vit.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
