

def conv_block(inputs, outputs, count):
    layers = []
    for i in range(count):
        layers.append(nn.Conv2d(inputs if i == 0 else outputs, outputs, 3, padding=1 if PADDING == "same" else 0))
        layers += [nn.BatchNorm2d(outputs)] if BATCH_NORM else []
        layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


def up_block(inputs, outputs):
    norm = [nn.BatchNorm2d(outputs)] if BATCH_NORM else []
    if UP == "transposed":
        return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 2, stride=2))
    if UP == "dilated":
        same = PADDING == "same"
        return nn.Sequential(nn.ConvTranspose2d(inputs, outputs, 3, stride=2, padding=1 if same else 2, output_padding=int(same)), *norm)
    return nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), nn.Conv2d(inputs, outputs, 3, padding=1), *norm)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        top, width = len(CHANNELS), IN_CHANNELS
        for i, channels in enumerate(CHANNELS):
            self.add_module(f"down{i}", conv_block(width, channels, CONVS[i]))
            width = channels
        self.bottleneck = conv_block(width, BOTTLENECK, CONVS[top])
        self.dropout, width = nn.Dropout2d(DROPOUT), BOTTLENECK
        for i in reversed(range(top)):
            risen = max(CHANNELS[i + 1] // 2, 1) if UP == "dilated" and i + 1 < top else CHANNELS[i]
            self.add_module(f"up{i}", up_block(width, risen))
            self.add_module(f"merge{i}", conv_block(risen + (CHANNELS[i] if i >= FIRST_SKIP else 0), CHANNELS[i], CONVS[i]))
            width = CHANNELS[i]
        norm = [nn.BatchNorm2d(LOGITS)] if BATCH_NORM and UP == "dilated" else []
        self.classifier = nn.Sequential(nn.Conv2d(width, LOGITS, 1), *norm)

    def forward(self, x):
        """(N, C, H, W) of prepare() to logits (N, K, H, W); with valid padding of the middle of the image only."""
        height, width, skips = x.shape[2], x.shape[3], []
        if PADDING == "same":
            multiple = 2 ** len(CHANNELS)
            x = F.pad(x, (0, -width % multiple, 0, -height % multiple))
        for i in range(len(CHANNELS)):
            skips.append(getattr(self, f"down{i}")(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.dropout(self.bottleneck(x))
        for i in reversed(range(len(CHANNELS))):
            x, skip = getattr(self, f"up{i}")(x), skips[i]
            top, left = (skip.shape[2] - x.shape[2]) // 2, (skip.shape[3] - x.shape[3]) // 2
            skip = skip[:, :, top:top + x.shape[2], left:left + x.shape[3]]
            x = getattr(self, f"merge{i}")(torch.cat([x, skip], 1) if i >= FIRST_SKIP else x)
        logits = self.classifier(x)
        return logits[:, :, :height, :width] if PADDING == "same" else logits


def load(path=pathlib.Path(__file__).with_suffix(".pth")):
    """The model with the weights that lie beside this file, in their precision, ready to predict."""
    weights = torch.load(path, map_location="cpu", weights_only=True)
    weights = {name: value for name, value in weights.items() if not name.startswith("supervision")}  # of training alone
    model = UNet().to(next(iter(weights.values())).dtype)
    model.load_state_dict(weights, strict=True)
    return model.eval()


def prepare(image, largest=255):
    """An image (H, W, C), or (H, W) where it is grey, as the model's input. `largest` counts where NORMALIZE is "fixed": it is what the values go up to
    (65535 for 16 bits, 1 for floats); otherwise they are taken as the file has them."""
    x = torch.from_numpy(numpy.asarray(image, dtype=numpy.float64))
    x = x if x.ndim == 3 else x[:, :, None]
    mean, std, low, high = (torch.tensor(values, dtype=torch.float64) for values in (MEAN, STD, LOW, HIGH))
    if NORMALIZE == "fixed":
        x = (x / largest - mean) / std
    elif NORMALIZE == "range":
        x = ((x - low) / (high - low) - mean) / std
    elif NORMALIZE == "per_image":
        x = (x - x.mean()) / x.std()
    else:
        raise ValueError(f"this model's images are normalised by data.normalize.mode={NORMALIZE}: do so, and call the model")
    return x.permute(2, 0, 1)[None]


def probabilities(logits):
    """(N, classes, H, W); a single logit is that of the second class, and classes that overlap have a probability each."""
    if OVERLAP:
        return logits.sigmoid()
    return logits.softmax(1) if LOGITS > 1 else torch.cat([1 - logits.sigmoid(), logits.sigmoid()], 1)
