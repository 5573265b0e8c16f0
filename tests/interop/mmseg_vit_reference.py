"""mmsegmentation's Segmenter (a ViT and the mask transformer head, or a linear head), written anew for comparison with the
library's parameter names. Attention is torch's own nn.MultiheadAttention, as there."""
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)

    def forward(self, x):
        return self.attn(x, x, x, need_weights=False)[0]


class Ffn(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU()), nn.Linear(4 * width, width))

    def forward(self, x):
        return self.layers(x)


class Layer(nn.Module):
    def __init__(self, width, heads, eps):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width, eps), nn.LayerNorm(width, eps)
        self.attn, self.ffn = Attention(width, heads), Ffn(width)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))


class VisionTransformer(nn.Module):
    def __init__(self, grid, patch, width, layers, heads, eps):
        super().__init__()
        self.grid = grid
        self.patch_embed = nn.ModuleDict({"projection": nn.Conv2d(3, width, patch, patch)})
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + grid[0] * grid[1], width))
        self.layers = nn.ModuleList(Layer(width, heads, eps) for _ in range(layers))
        self.ln1 = nn.LayerNorm(width, eps)

    def forward(self, x):
        patches = self.patch_embed["projection"](x)
        shape = patches.shape[2:]
        grid = self.pos_embed[:, 1:].mT.unflatten(2, self.grid)
        if shape != torch.Size(self.grid):
            grid = F.interpolate(grid, size=shape, mode="bilinear", align_corners=False)
        positions = torch.cat([self.pos_embed[:, :1], grid.flatten(2).mT], 1)
        tokens = torch.cat([self.cls_token.expand(len(x), -1, -1), patches.flatten(2).mT], 1) + positions
        for layer in self.layers:
            tokens = layer(tokens)
        return self.ln1(tokens)[:, 1:].mT.unflatten(2, shape)


class MaskHead(nn.Module):
    def __init__(self, width, classes, layers, heads, eps):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads, eps) for _ in range(layers))
        self.dec_proj = nn.Linear(width, width)
        self.cls_emb = nn.Parameter(torch.zeros(1, classes, width))
        self.patch_proj = nn.Linear(width, width, bias=False)
        self.classes_proj = nn.Linear(width, width, bias=False)
        self.decoder_norm, self.mask_norm = nn.LayerNorm(width, eps), nn.LayerNorm(classes, eps)

    def forward(self, features):
        tokens = torch.cat([self.dec_proj(features.flatten(2).mT), self.cls_emb.expand(len(features), -1, -1)], 1)
        for layer in self.layers:
            tokens = layer(tokens)
        tokens = self.decoder_norm(tokens)
        classes = self.cls_emb.shape[1]
        patches = F.normalize(self.patch_proj(tokens[:, :-classes]), dim=2)
        masks = patches @ F.normalize(self.classes_proj(tokens[:, -classes:]), dim=2).mT
        return self.mask_norm(masks).mT.unflatten(2, features.shape[2:])


class LinearHead(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.conv_seg = nn.Conv2d(width, classes, 1)

    def forward(self, features):
        return self.conv_seg(features)


class Segmenter(nn.Module):
    def __init__(self, backbone, decode_head):
        super().__init__()
        self.backbone, self.decode_head = backbone, decode_head

    def forward(self, x):
        return [self.decode_head(self.backbone(x))]
