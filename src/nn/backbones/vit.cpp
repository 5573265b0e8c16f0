#include "nn/backbones/vit.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/features/resize_bilinear.h"
#include "kernels/tokens/join_tokens.h"
#include "tensor/position_embed.h"

namespace tessera {

namespace nn = torch::nn;

VitOptions vit_options(VitBackbone backbone) {
  struct Row {
    int64_t width, layers, heads;
  };
  constexpr std::array<Row, 4> kSizes{{{192, 12, 3}, {384, 12, 6}, {768, 12, 12}, {1024, 24, 16}}};
  constexpr std::array<int64_t, 3> kPatches{8, 16, 32};
  const auto index = static_cast<size_t>(backbone);
  const Row& row = kSizes[index / kPatches.size()];
  VitOptions options;
  options.patch = kPatches[index % kPatches.size()];
  options.layers = row.layers;
  options.transformer.width = row.width;
  options.transformer.heads = row.heads;
  return options;
}

PositionFit position_fit(PositionResize how) {
  switch (how) {
    case PositionResize::kBicubic: return PositionFit::kBicubic;
    case PositionResize::kBicubicPlain: return PositionFit::kBicubicPlain;
    case PositionResize::kBilinear: break;
  }
  return PositionFit::kBilinear;
}

VitOptions vit_options(const VitConfig& config, int64_t in_channels) {
  VitOptions options = vit_options(config.backbone);
  options.in_channels = in_channels;
  if (config.patch > 0) options.patch = config.patch;
  if (config.layers > 0) options.layers = config.layers;
  options.image_size = config.image_size;
  options.distilled = config.distilled;
  options.position_resize = config.position_resize;
  TransformerOptions& layer = options.transformer;
  if (config.width > 0) layer.width = config.width;
  if (config.heads > 0) layer.heads = config.heads;
  layer.dropout = config.dropout;
  layer.attention_dropout = config.attention_dropout;
  layer.drop_path = config.drop_path;
  layer.norm_eps = config.norm_eps;
  layer.checkpoint = config.checkpoint;
  return options;
}

VitImpl::VitImpl(const VitOptions& options) : options_(options) {
  TSR_CHECK_USAGE(options.image_size.height > 0 && options.image_size.width > 0,
                  "a vision transformer needs an image_size of at least 1x1, got {}x{}", options.image_size.height,
                  options.image_size.width);
  const TransformerOptions& layer = options.transformer;
  patch_embed_ = register_module("patch_embed", PatchEmbed(options.in_channels, layer.width, options.patch));
  own_grid_ = grid(options.image_size.height, options.image_size.width);
  cls_token_ = register_parameter("cls_token", torch::zeros({1, 1, layer.width}));
  if (options.distilled) dist_token_ = register_parameter("dist_token", torch::zeros({1, 1, layer.width}));
  pos_embed_ = register_parameter("pos_embed", torch::zeros({1, prefix() + own_grid_[0] * own_grid_[1], layer.width}));
  pos_drop_ = register_module("pos_drop", ElementDropout(layer.dropout));
  nn::ModuleList list;
  blocks_ = stack_blocks(list, options.layers, layer);
  register_module("blocks", list);
  norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({layer.width}).eps(layer.norm_eps)));
}

at::Tensor VitImpl::embed(const at::Tensor& x) {
  const at::Tensor patches = patch_embed_(x);
  const at::Tensor tokens = options_.distilled ? at::cat({cls_token_, dist_token_}, 1) : cls_token_;
  const at::Tensor positions = resize_position_embed(pos_embed_, own_grid_, grid(x.size(2), x.size(3)), prefix(),
                                                     position_fit(options_.position_resize));
  if (use_fused_transformer(x))
    return pos_drop_(join_tokens(patches, tokens.flatten(0, 1), positions.flatten(0, 1), /*tokens_first=*/true));
  return pos_drop_(at::cat({tokens.expand({x.size(0), -1, -1}), patches}, 1) + positions);
}

at::Tensor VitImpl::forward(const at::Tensor& x) {
  ResidualTokens tokens{embed(x), {}};
  for (TransformerBlock& block : blocks_) tokens = block->advance(tokens);
  return norm_tokens(tokens, norm_);
}

at::Tensor VitImpl::patches(const at::Tensor& x) {
  return run_segments(patch_segments(""), {x}).back();
}

at::Tensor VitImpl::attention(const at::Tensor& x, int64_t layer) {
  return attention_of(blocks_, embed(x), layer);
}

Segment VitImpl::embed_segment(const std::string& prefix) {
  Segment segment{.name = prefix + "embedding",
                  .parts = {prefix + "patch_embed", prefix + "cls_token", prefix + "pos_embed"},
                  .compute = [this](const Tensors& in) -> Tensors {
                    return {size_tensor(in[0]), embed(in[0])};
                  }};
  if (options_.distilled) segment.parts.push_back(prefix + "dist_token");
  return segment;
}

std::vector<Segment> VitImpl::patch_segments(const std::string& prefix) {
  std::vector<Segment> all{embed_segment(prefix)};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Segment block = block_segment(prefix + "blocks." + std::to_string(i), blocks_[i]);
    block.carried = 1;
    block.depth = 1 + static_cast<int64_t>(i);
    all.push_back(std::move(block));
  }
  all.push_back({.name = prefix + "norm",
                 .parts = {prefix + "norm"},
                 .compute = [this](const Tensors& in) -> Tensors {
                   return {norm_and_split(ResidualTokens::unpack(in), norm_, this->prefix()).rest};
                 },
                 .carried = 1,
                 .depth = depth_behind()});
  return all;
}

// Patches are cut out before the norm: it is one for all layers, and so belongs to a segment behind the last. They are cut out
// at once, in front of the next layer, because that order of operations is the one in which their gradients are summed.
std::vector<Segment> VitImpl::layer_segments(const std::string& prefix, const std::vector<int64_t>& layers) {
  std::vector<Segment> all{embed_segment(prefix)};
  size_t taken = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    Segment segment = block_segment(prefix + "blocks." + std::to_string(i), blocks_[i]);
    segment.depth = 1 + static_cast<int64_t>(i);
    segment.carried = 1 + taken;
    if (taken == layers.size()) {
      segment.compute = [](const Tensors& in) { return in; };
      segment.checkpoint = false;
    } else if (layers[taken] == static_cast<int64_t>(i)) {
      const bool is_last = ++taken == layers.size();
      segment.compute = [this, is_last, block = blocks_[i]](const Tensors& in) mutable {
        const at::Tensor tokens = block->advance(ResidualTokens::unpack(in)).value();
        Tensors out{tokens.slice(1, this->prefix())};
        if (!is_last) out.push_back(tokens);
        return out;
      };
    }
    all.push_back(std::move(segment));
  }
  TSR_CHECK(taken == layers.size(), "features of layers that do not exist, or not in rising order, were asked for");
  return all;
}

at::Tensor VitImpl::feature_map(const at::Tensor& patches, const at::Tensor& size) {
  const auto [rows, columns] = grid(size.size(2), size.size(3));
  return norm_(patches).transpose(1, 2).reshape({patches.size(0), options_.transformer.width, rows, columns});
}

at::Tensor VitImpl::cut_back(const at::Tensor& logits, const at::Tensor& size) const {
  const int64_t patch = options_.patch, height = size.size(2), width = size.size(3);
  if (height % patch == 0 && width % patch == 0) return logits;
  const auto [rows, columns] = grid(height, width);
  return resize(logits, {rows * patch, columns * patch}, /*align_corners=*/false).slice(2, 0, height).slice(3, 0, width);
}

}  // namespace tessera
