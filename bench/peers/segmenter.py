"""Segmenter: a vision transformer with timm's names and the mask decoder of its reference."""
import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, eps=1e-6):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, eps), Attention(width, heads)
        self.norm2, self.mlp = nn.LayerNorm(width, eps), Mlp(width)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, inputs, width, patch):
        super().__init__()
        self.proj = nn.Conv2d(inputs, width, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Encoder(nn.Module):
    """For images of the size that the position embeddings were made for."""

    def __init__(self, inputs, width, patch, layers, heads, positions, eps=1e-6):
        super().__init__()
        self.patch_embed = PatchEmbed(inputs, width, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, positions, width))
        self.blocks = nn.Sequential(*(Block(width, heads, eps) for _ in range(layers)))
        self.norm = nn.LayerNorm(width, eps)

    def forward(self, x):
        tokens = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), self.patch_embed(x)], 1) + self.pos_embed
        return self.norm(self.blocks(tokens))[:, 1:]


class MaskDecoder(nn.Module):
    def __init__(self, width, layers, heads, classes, eps=1e-5):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width, heads, eps) for _ in range(layers)))
        self.cls_emb = nn.Parameter(torch.zeros(1, classes, width))
        self.proj_dec = nn.Linear(width, width)
        self.proj_patch, self.proj_classes = nn.Parameter(torch.zeros(width, width)), nn.Parameter(torch.zeros(width, width))
        self.decoder_norm, self.mask_norm = nn.LayerNorm(width, eps), nn.LayerNorm(classes, eps)

    def forward(self, tokens):
        count = tokens.shape[1]
        x = torch.cat([self.proj_dec(tokens), self.cls_emb.expand(tokens.shape[0], -1, -1)], 1)
        x = self.decoder_norm(self.blocks(x))
        patches, classes = x[:, :count] @ self.proj_patch, x[:, count:] @ self.proj_classes
        patches = patches / patches.norm(dim=-1, keepdim=True)
        classes = classes / classes.norm(dim=-1, keepdim=True)
        return self.mask_norm(patches @ classes.transpose(1, 2))


class Segmenter(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x):
        patch = self.encoder.patch_embed.proj.stride[0]
        masks = self.decoder(self.encoder(x)).transpose(1, 2)
        return masks.reshape(x.shape[0], -1, x.shape[2] // patch, x.shape[3] // patch), None


def build(weights, heads=0):
    """heads 0: one per 64 channels, as every named size has."""
    width, inputs, patch, _ = weights["encoder.patch_embed.proj.weight"].shape
    layers = {part: 1 + max(int(name.split(".")[2]) for name in weights if name.startswith(f"{part}.blocks."))
              for part in ("encoder", "decoder")}
    heads = heads or width // 64
    encoder = Encoder(inputs, width, patch, layers["encoder"], heads, weights["encoder.pos_embed"].shape[1])
    return Segmenter(encoder, MaskDecoder(width, layers["decoder"], heads, weights["decoder.cls_emb"].shape[1]))
