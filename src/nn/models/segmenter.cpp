#include "nn/models/segmenter.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/tokens/join_tokens.h"
#include "kernels/tokens/l2_normalize_rows.h"
#include "kernels/tokens/layer_norm.h"
#include "nn/blocks/linear.h"
#include "nn/init/init_transformer.h"

namespace tessera {
namespace {

namespace nn = torch::nn;

// Segmenter's own code and mmsegmentation's leave the decoder's norms at torch's default, whatever the encoder has.
constexpr double kDecoderNormEps = 1e-5;

std::shared_ptr<PatchDecoder> make_decoder(const SegmenterConfig& config, const VitOptions& encoder, int64_t classes) {
  // Heads of the encoder's width per head: 64 channels for every named size, as the reference has.
  TransformerOptions options = encoder.transformer;
  if (config.decoder == SegmenterDecoder::kLinear) return std::make_shared<LinearDecoderImpl>(options.width, classes);
  options.dropout = config.decoder_dropout;
  options.drop_path = config.decoder_drop_path;
  options.norm_eps = kDecoderNormEps;
  return std::make_shared<MaskDecoderImpl>(options, config.decoder_layers, classes);
}

}  // namespace

LinearDecoderImpl::LinearDecoderImpl(int64_t width, int64_t classes) {
  head_ = register_module("head", nn::Linear(width, classes));
}

std::vector<Segment> LinearDecoderImpl::segments(const std::string& prefix) {
  return {{.name = prefix + "head", .parts = {prefix + "head"}, .compute = [this](const Tensors& in) -> Tensors {
             return {at::linear(in[0], head_->weight, head_->bias)};
           }}};
}

MaskDecoderImpl::MaskDecoderImpl(const TransformerOptions& options, int64_t layers, int64_t classes) {
  nn::ModuleList list;
  blocks_ = stack_blocks(list, layers, options);
  register_module("blocks", list);
  cls_emb_ = register_parameter("cls_emb", torch::zeros({1, classes, options.width}));
  proj_dec_ = register_module("proj_dec", nn::Linear(options.width, options.width));
  proj_patch_ = register_parameter("proj_patch", torch::zeros({options.width, options.width}));
  proj_classes_ = register_parameter("proj_classes", torch::zeros({options.width, options.width}));
  decoder_norm_ = register_module("decoder_norm", nn::LayerNorm(nn::LayerNormOptions({options.width}).eps(options.norm_eps)));
  mask_norm_ = register_module("mask_norm", nn::LayerNorm(nn::LayerNormOptions({classes}).eps(options.norm_eps)));
}

at::Tensor MaskDecoderImpl::with_classes(const at::Tensor& tokens) {
  const at::Tensor projected = linear_with_bias(tokens, proj_dec_->weight, proj_dec_->bias);
  if (use_fused_transformer(tokens)) return join_tokens(projected, cls_emb_.flatten(0, 1), {}, /*tokens_first=*/false);
  return at::cat({projected, cls_emb_.expand({tokens.size(0), -1, -1})}, 1);
}

std::vector<Segment> MaskDecoderImpl::segments(const std::string& prefix) {
  std::vector<Segment> all{{.name = prefix + "embedding",
                            .parts = {prefix + "proj_dec", prefix + "cls_emb"},
                            .compute = [this](const Tensors& in) -> Tensors { return {with_classes(in[0])}; }}};
  for (size_t i = 0; i < blocks_.size(); ++i) all.push_back(block_segment(prefix + "blocks." + std::to_string(i), blocks_[i]));
  all.push_back({.name = prefix + "masks",
                 .parts = {prefix + "decoder_norm", prefix + "proj_patch", prefix + "proj_classes", prefix + "mask_norm"},
                 .compute = [this](const Tensors& in) -> Tensors { return {masks(ResidualTokens::unpack(in))}; }});
  return all;
}

at::Tensor MaskDecoderImpl::masks(const ResidualTokens& tokens) {
  const SplitTokens x = norm_and_split(tokens, decoder_norm_, tokens.sum.size(1) - cls_emb_.size(1));
  const bool fused = use_fused_transformer(tokens.sum);
  const auto unit = [fused](const at::Tensor& v) { return fused ? l2_normalize_rows(v) : v / v.norm(2, -1, /*keepdim=*/true); };
  const at::Tensor patches = unit(x.head.matmul(proj_patch_)), classes = unit(x.rest.matmul(proj_classes_));
  if (!fused) return mask_norm_(patches.matmul(classes.transpose(1, 2)));
  // The GPU's fast products need rows of a multiple of 16 bytes.
  const int64_t count = classes.size(1), missing = (8 - count % 8) % 8;
  const at::Tensor filled = missing > 0 ? at::constant_pad_nd(classes, {0, 0, 0, missing}) : classes;
  const at::Tensor cosines = patches.matmul(filled.transpose(1, 2)).slice(2, 0, count);
  const at::ScalarType type = mask_norm_->weight.scalar_type();
  if (count > widest_layer_norm(type)) return mask_norm_(cosines.to(type));
  return add_layer_norm(cosines.to(type), {}, mask_norm_->weight, mask_norm_->bias, mask_norm_->options.eps(), type).normalized;
}

at::Tensor MaskDecoderImpl::attention(const at::Tensor& tokens, int64_t layer) {
  return attention_of(blocks_, with_classes(tokens), layer);
}

at::Tensor AttentionMaps::of_token(int64_t token) const {
  TSR_CHECK(token >= 0 && token < weights.size(2), "attention of token {} was asked for; there are {}", token, weights.size(2));
  const at::Tensor row = weights.select(2, token).slice(2, prefix, prefix + grid[0] * grid[1]);
  return row.reshape({weights.size(0), weights.size(1), grid[0], grid[1]});
}

at::Tensor AttentionMaps::of_classes() const {
  const int64_t patches = grid[0] * grid[1];
  const at::Tensor rows = weights.slice(2, prefix + patches).slice(3, prefix, prefix + patches);
  return rows.reshape({weights.size(0), weights.size(1), classes, grid[0], grid[1]});
}

SegmenterImpl::SegmenterImpl(const SegmenterConfig& config, const ModelShape& shape) : classes_(shape.num_classes) {
  encoder_ = register_module("encoder", Vit(vit_options(config, shape.in_channels)));
  decoder_ = register_module("decoder", make_decoder(config, encoder_->options(), shape.num_classes));
}

std::vector<Segment> SegmenterImpl::make_segments() {
  std::vector<Segment> all = encoder_->patch_segments("encoder."), decoder = decoder_->segments("decoder.");
  for (Segment& segment : decoder) {
    segment.carried = 1;
    segment.depth = encoder_->depth_behind();
  }
  // The last one takes the size as well, which says where on the image its logits lie.
  Segment& last = decoder.back();
  last.carried = 0;
  last.compute = [this, logits = std::move(last.compute)](const Tensors& in) -> Tensors {
    return {encoder_->cut_back(on_grid(logits({in.begin() + 1, in.end()})[0], in[0]), in[0])};
  };
  all.insert(all.end(), std::make_move_iterator(decoder.begin()), std::make_move_iterator(decoder.end()));
  return all;
}

at::Tensor SegmenterImpl::on_grid(const at::Tensor& logits, const at::Tensor& size) const {
  const auto [rows, columns] = encoder_->grid(size.size(2), size.size(3));
  return logits.transpose(1, 2).reshape({logits.size(0), classes_, rows, columns});
}

at::Tensor SegmenterImpl::class_masks(const at::Tensor& x) {
  return on_grid(decoder_->forward(encoder_->patches(x)), x);
}

void SegmenterImpl::init(uint64_t seed) {
  init_transformer(*this, seed);
}

std::vector<std::string> SegmenterImpl::no_weight_decay() const {
  std::vector<std::string> names;
  const auto parameters = named_parameters();
  for (const char* name : {"encoder.pos_embed", "encoder.cls_token", "encoder.dist_token", "decoder.cls_emb"}) {
    if (parameters.contains(name)) names.emplace_back(name);
  }
  return names;
}

AttentionMaps SegmenterImpl::encoder_attention(const at::Tensor& x, int64_t layer) {
  return {encoder_->attention(x, layer), encoder_->prefix(), encoder_->grid(x.size(2), x.size(3)), 0};
}

AttentionMaps SegmenterImpl::decoder_attention(const at::Tensor& x, int64_t layer) {
  auto* decoder = decoder_->as<MaskDecoderImpl>();
  TSR_CHECK(decoder != nullptr, "a linear decoder has no attention; use decoder: mask, or the encoder's attention");
  return {decoder->attention(encoder_->patches(x), layer), 0, encoder_->grid(x.size(2), x.size(3)), classes_};
}

ModelPtr make_segmenter(const ModelConfig& config, const ModelShape& shape) {
  return std::make_shared<SegmenterImpl>(config.segmenter, shape);
}

}  // namespace tessera
