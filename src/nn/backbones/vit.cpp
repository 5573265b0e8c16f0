#include "nn/backbones/vit.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
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
  options.width = row.width;
  options.layers = row.layers;
  options.heads = row.heads;
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
  if (config.width > 0) options.width = config.width;
  if (config.layers > 0) options.layers = config.layers;
  if (config.heads > 0) options.heads = config.heads;
  options.image_size = config.image_size;
  options.distilled = config.distilled;
  options.dropout = config.dropout;
  options.attention_dropout = config.attention_dropout;
  options.drop_path = config.drop_path;
  options.norm_eps = config.norm_eps;
  options.position_resize = config.position_resize;
  options.checkpoint = config.checkpoint;
  return options;
}

VitImpl::VitImpl(const VitOptions& options) : options_(options) {
  TSR_CHECK_USAGE(options.image_size.height > 0 && options.image_size.width > 0,
                  "a vision transformer needs an image_size of at least 1x1, got {}x{}", options.image_size.height,
                  options.image_size.width);
  patch_embed_ = register_module("patch_embed", PatchEmbed(options.in_channels, options.width, options.patch));
  own_grid_ = grid(options.image_size.height, options.image_size.width);
  cls_token_ = register_parameter("cls_token", torch::zeros({1, 1, options.width}));
  if (options.distilled) dist_token_ = register_parameter("dist_token", torch::zeros({1, 1, options.width}));
  pos_embed_ = register_parameter("pos_embed", torch::zeros({1, prefix() + own_grid_[0] * own_grid_[1], options.width}));
  pos_drop_ = register_module("pos_drop", ElementDropout(options.dropout));
  nn::ModuleList list;
  blocks_ = stack_blocks(list, options.layers,
                         {.width = options.width,
                          .heads = options.heads,
                          .mlp_width = 4 * options.width,
                          .dropout = options.dropout,
                          .attention_dropout = options.attention_dropout,
                          .drop_path = options.drop_path,
                          .norm_eps = options.norm_eps,
                          .checkpoint = options.checkpoint});
  register_module("blocks", list);
  norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({options.width}).eps(options.norm_eps)));
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
  return run_blocks(blocks_, embed(x), norm_);
}

at::Tensor VitImpl::patches(const at::Tensor& x) {
  return run_blocks_split(blocks_, embed(x), norm_, prefix()).rest;
}

at::Tensor VitImpl::attention(const at::Tensor& x, int64_t layer) {
  return attention_of(blocks_, embed(x), layer);
}

std::vector<at::Tensor> VitImpl::features(const at::Tensor& x, const std::vector<int64_t>& layers) {
  const auto [rows, columns] = grid(x.size(2), x.size(3));
  ResidualTokens tokens{embed(x), {}};
  std::vector<at::Tensor> maps;
  for (size_t i = 0; i < blocks_.size() && maps.size() < layers.size(); ++i) {
    tokens = blocks_[i]->advance(tokens);
    if (layers[maps.size()] != static_cast<int64_t>(i)) continue;
    tokens = {tokens.value(), {}};
    maps.push_back(norm_(tokens.sum.slice(1, prefix())).transpose(1, 2).reshape({x.size(0), options_.width, rows, columns}));
  }
  TSR_CHECK(maps.size() == layers.size(), "features of layers that do not exist, or not in rising order, were asked for");
  return maps;
}

int64_t vit_depth(const std::string& name, int64_t layers) {
  for (const char* first : {"patch_embed.", "cls_token", "dist_token", "pos_embed"}) {
    if (name.starts_with(first)) return 0;
  }
  const std::string blocks = "blocks.";
  return name.starts_with(blocks) ? 1 + std::stoll(name.substr(blocks.size())) : layers + 1;
}

}  // namespace tessera
