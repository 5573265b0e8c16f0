#pragma once
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>

#include "config/segmenter_config.h"
#include "nn/backbones/vit.h"
#include "nn/blocks/product_parameters.h"
#include "nn/model.h"

namespace tessera {

// Maps patch tokens to class logits per patch.
class PatchDecoder : public torch::nn::Module {
 public:
  // tokens: (N, T, width). Result: (N, T, classes). Runs the segments, without activation checkpointing.
  at::Tensor forward(const at::Tensor& tokens) { return run_segments(segments(""), {tokens})[0]; }
  // The segments from {tokens} to {class logits}. `prefix` is the decoder's place in the model ("decoder.").
  virtual std::vector<Segment> segments(const std::string& prefix) = 0;
};

class LinearDecoderImpl : public PatchDecoder {
 public:
  LinearDecoderImpl(int64_t width, int64_t classes);
  std::vector<Segment> segments(const std::string& prefix) override;

 private:
  torch::nn::Linear head_{nullptr};
};

// Transformer layers over patches and one learned embedding per class; a logit is the cosine between a patch and a class,
// normalised over classes.
class MaskDecoderImpl : public PatchDecoder, public ProductParameters {
 public:
  MaskDecoderImpl(const TransformerOptions& options, int64_t layers, int64_t classes);
  // Segments that put classes beside the patches, run each layer, make the masks.
  std::vector<Segment> segments(const std::string& prefix) override;
  at::Tensor attention(const at::Tensor& tokens, int64_t layer);  // (N, heads, T + classes, T + classes), classes last
  std::vector<at::Tensor> product_parameters() const override { return {proj_patch_, proj_classes_}; }

 private:
  at::Tensor with_classes(const at::Tensor& tokens);
  at::Tensor masks(const ResidualTokens& tokens);  // of what the layers make of patches and classes

  at::Tensor cls_emb_, proj_patch_, proj_classes_;
  torch::nn::Linear proj_dec_{nullptr};
  std::vector<TransformerBlock> blocks_;
  torch::nn::LayerNorm decoder_norm_{nullptr}, mask_norm_{nullptr};
};

// Where attention maps lie on the image: tokens are `prefix` special ones, grid[0] * grid[1] patches row by row, then
// `classes` class embeddings (in the mask decoder).
struct AttentionMaps {
  at::Tensor weights;  // (N, heads, T, T): row t tells what token t looks at
  int64_t prefix = 0;
  std::array<int64_t, 2> grid{};
  int64_t classes = 0;

  at::Tensor of_token(int64_t token) const;  // (N, heads, h, w): how much a token looks at each patch
  at::Tensor of_classes() const;             // (N, heads, classes, h, w), of the mask decoder
};

// Segmenter (Strudel et al., 2021) with the parameter names of its reference. Logits have one value per patch when the input
// is a multiple of the patch. Other inputs are filled up with zeros, and since patches then reach over the edge, logits come
// at the input's resolution: upsampled bilinearly and cut back, as the reference does.
class SegmenterImpl : public SegmentationModel {
 public:
  SegmenterImpl(const SegmenterConfig& config, const ModelShape& shape);

  std::vector<std::string> head_prefixes() const override { return {"decoder."}; }
  void init(uint64_t seed) override;
  std::vector<std::string> no_weight_decay() const override;

  int64_t patch() const { return encoder_->options().patch; }
  int64_t num_layers() const { return encoder_->options().layers; }
  bool has_class_tokens() const { return decoder_->as<MaskDecoderImpl>() != nullptr; }
  at::Tensor class_masks(const at::Tensor& x);  // (N, classes, h, w): logits per patch, for any input
  AttentionMaps encoder_attention(const at::Tensor& x, int64_t layer);
  AttentionMaps decoder_attention(const at::Tensor& x, int64_t layer);  // mask decoder only

 protected:
  // The segments of the encoder, then those of the decoder.
  std::vector<Segment> make_segments() override;

 private:
  at::Tensor on_grid(const at::Tensor& logits, const at::Tensor& size) const;  // (N, T, classes) to (N, classes, h, w)

  int64_t classes_;
  Vit encoder_{nullptr};
  std::shared_ptr<PatchDecoder> decoder_;
};

ModelPtr make_segmenter(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
