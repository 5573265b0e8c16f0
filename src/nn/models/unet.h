#pragma once
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>

#include <vector>

#include "config/model_config.h"
#include "nn/blocks/dropout.h"
#include "nn/blocks/layer.h"
#include "nn/model.h"

namespace tessera {

// U-Net (Ronneberger et al., 2015) with channels and convolutions per height, in the forms of the COCO reference (dilated
// up-path, no skip at the first height) and the microscopy reference (transposed 2x2 up-path, all skips). Logits have the
// input's resolution; inputs of any size are padded to a multiple of 2^heights and the logits cut back. In training, heights
// below the top give auxiliary logits where config.deep_supervision says so.
class UNetImpl : public SegmentationModel {
 public:
  UNetImpl(const UNetConfig& config, const ModelShape& shape);

  int64_t covered(int64_t size) const override;
  int64_t min_size() const override;
  std::vector<std::string> head_prefixes() const override { return {"classifier.", "supervision"}; }

 protected:
  // Segments for each height of the encoder, the bottleneck, each height of the decoder, the classifier.
  std::vector<Segment> make_segments() override;

 private:
  int64_t heights() const { return static_cast<int64_t>(config_.channels.size()); }
  int64_t convs(size_t height) const { return config_.convs.size() == 1 ? config_.convs[0] : config_.convs[height]; }
  bool joins(size_t height) const { return config_.skips == Skips::kAll || height > 0; }
  bool supervises(size_t height) const { return height > 0 && height <= supervision_.size(); }
  bool joins_in_one(const at::Tensor& x) const;
  at::Tensor padded(const at::Tensor& image) const;
  Tensors encode(size_t height, const at::Tensor& x);                    // {skip, if it is joined; x at the next height}
  at::Tensor decode(size_t height, const Tensors& in);                   // of {skip, if it is joined; x of the height below}
  Tensors classify(const at::Tensor& features, const at::Tensor& size);  // the output
  static at::Tensor unpadded(const at::Tensor& logits, const at::Tensor& features, const at::Tensor& size);
  int64_t valid_output(int64_t size) const;  // side of the output of a valid U-Net, or <= 0

  UNetConfig config_;
  std::vector<LayerPtr> down_, blocks_;
  std::vector<torch::nn::Sequential> up_;
  LayerPtr bottleneck_;
  torch::nn::Sequential classifier_{nullptr};
  std::vector<torch::nn::Conv2d> supervision_;  // of heights 1, 2, ...
  ChannelDropout dropout_{nullptr};
};

ModelPtr make_unet(const ModelConfig& config, const ModelShape& shape);

}  // namespace tessera
