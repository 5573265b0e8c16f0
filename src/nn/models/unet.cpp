#include "nn/models/unet.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/features/upconv_concat.h"
#include "nn/blocks/batch_norm.h"
#include "nn/blocks/checkpointed.h"
#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/pool.h"
#include "nn/blocks/resize.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

namespace nn = torch::nn;

// `count` times 3x3 convolution (-> batch norm) -> ReLU, numbered as in a Sequential with its ReLUs.
class ConvStack : public Layer {
 public:
  ConvStack(int64_t in, int64_t out, int64_t count, const UNetConfig& config) {
    const int64_t padding = config.padding == ConvPadding::kSame ? 1 : 0, stride = config.batch_norm ? 3 : 2;
    for (int64_t i = 0; i < count; ++i) {
      const nn::Conv2d conv(nn::Conv2dOptions(i == 0 ? in : out, out, 3).padding(padding));
      convs_.push_back(register_module(std::to_string(stride * i), conv));
      if (config.batch_norm) norms_.push_back(register_module(std::to_string(stride * i + 1), BatchNorm2d(out)));
    }
  }
  at::Tensor forward(const at::Tensor& x) override { return forward(x, convs_.size()); }
  // And the maxima, see conv_norm_relu_pool.
  NormPooled forward_and_pool(const at::Tensor& x, int64_t before) {
    if (norms_.empty()) {
      const auto [pooled, y] = maxima_and_features(forward(x), {.kernel = 2, .stride = 2});
      return {pooled, y, {}};
    }
    return conv_norm_relu_pool(convs_.back(), norms_.back(), forward(x, convs_.size() - 1), before);
  }

 private:
  at::Tensor forward(const at::Tensor& x, size_t count) {
    at::Tensor y = x;
    for (size_t i = 0; i < count; ++i) y = norms_.empty() ? convs_[i](y).relu_() : conv_norm_relu(convs_[i], norms_[i], y);
    return y;
  }

  std::vector<nn::Conv2d> convs_;
  std::vector<BatchNorm2d> norms_;
};

LayerPtr conv_block(int64_t in, int64_t out, int64_t count, const UNetConfig& config) {
  return std::make_shared<ConvStack>(in, out, count, config);
}

// Doubles the size. `dilated` is a 3x3 convolution over the input spread by 2 and padded by (1, 2): written as the transposed
// convolution that it equals, with one row and column more on the far side.
nn::Sequential up_block(int64_t in, int64_t out, const UNetConfig& config) {
  nn::Sequential block;
  switch (config.up) {
    case UpPath::kTransposed: block->push_back(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(in, out, 2).stride(2))); break;
    case UpPath::kDilated:
      block->push_back(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(in, out, 3)
                                               .stride(2)
                                               .padding(config.padding == ConvPadding::kSame ? 1 : 2)
                                               .output_padding(config.padding == ConvPadding::kSame ? 1 : 0)));
      if (config.batch_norm) block->push_back(BatchNorm2d(out));
      break;
    case UpPath::kBilinear:
      block->push_back(BilinearDouble());
      block->push_back(nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1)));
      if (config.batch_norm) block->push_back(BatchNorm2d(out));
      break;
  }
  return block;
}

int64_t upsampled(int64_t size, const UNetConfig& config) {
  return config.up == UpPath::kDilated && config.padding == ConvPadding::kValid ? 2 * size - 3 : 2 * size;
}

// A slice of everything is left out: backward would fill and copy a tensor of zeros for it.
at::Tensor crop(const at::Tensor& x, int64_t top, int64_t left, int64_t height, int64_t width) {
  if (x.size(2) == height && x.size(3) == width) return x;
  return x.slice(2, top, top + height).slice(3, left, left + width);
}

at::Tensor centre_crop(const at::Tensor& x, int64_t height, int64_t width) {
  return crop(x, (x.size(2) - height) / 2, (x.size(3) - width) / 2, height, width);
}

// The up path's transposed convolution beside the skip; where the skip lies in a concat buffer, it fills the buffer.
at::Tensor join_transposed(const nn::Sequential& up, const at::Tensor& x, const at::Tensor& skip, const at::Tensor& buffer) {
  const auto& conv = up->at<nn::ConvTranspose2dImpl>(0);
  const at::ScalarType type = product_type(x);
  const at::Tensor beside = centre_crop(skip, 2 * x.size(2), 2 * x.size(3)).to(type);
  return upconv2x2_concat(x.to(type), conv.weight.to(type), conv.bias, beside, beside.is_same(skip) ? buffer : at::Tensor());
}

}  // namespace

// On a GPU passes over memory are what costs; on a CPU libtorch's operations are as fast.
bool UNetImpl::joins_in_one(const at::Tensor& x) const {
  return config_.up == UpPath::kTransposed && !config_.checkpoint && x.is_cuda() && use_fused(x);
}

UNetImpl::UNetImpl(const UNetConfig& config, const ModelShape& shape) : config_(config) {
  const auto& channels = config.channels;
  const auto top = channels.size();
  int64_t width = shape.in_channels;
  for (size_t i = 0; i < top; ++i) {
    down_.push_back(register_module("down" + std::to_string(i), conv_block(width, channels[i], convs(i), config)));
    width = channels[i];
  }
  const int64_t deepest = config.bottleneck > 0 ? config.bottleneck : 2 * channels.back();
  bottleneck_ = register_module("bottleneck", conv_block(width, deepest, convs(top), config));
  dropout_ = register_module("dropout", ChannelDropout(config.dropout));
  width = deepest;
  for (size_t i = top; i-- > 0;) {
    // The dilated form halves as it leaves a height; the others come out as wide as the height they enter.
    const bool halves = config.up == UpPath::kDilated && i + 1 < top;
    const int64_t risen = halves ? std::max<int64_t>(channels[i + 1] / 2, 1) : channels[i];
    up_.push_back(register_module("up" + std::to_string(i), up_block(width, risen, config)));
    blocks_.push_back(register_module("merge" + std::to_string(i),
                                      conv_block(risen + (joins(i) ? channels[i] : 0), channels[i], convs(i), config)));
    width = channels[i];
  }
  nn::Sequential classifier(nn::Conv2d(nn::Conv2dOptions(width, shape.num_classes, 1)));
  if (config.batch_norm && config.up == UpPath::kDilated) classifier->push_back(BatchNorm2d(shape.num_classes));
  classifier_ = register_module("classifier", classifier);
}

template <class Block>
at::Tensor UNetImpl::run(Block block, const std::vector<at::Tensor>& inputs) const {
  auto compute = [block](const std::vector<at::Tensor>& in) mutable {
    return block->forward(in.size() == 1 ? in[0] : concat(in));
  };
  return config_.checkpoint ? checkpointed(*block, inputs, compute) : compute(inputs);
}

ModelOutput UNetImpl::forward(const at::Tensor& input) {
  const int64_t height = input.size(2), width = input.size(3), multiple = int64_t{1} << heights();
  at::Tensor x = input;
  if (config_.padding == ConvPadding::kSame) {
    const int64_t below = (multiple - height % multiple) % multiple, right = (multiple - width % multiple) % multiple;
    if (below > 0 || right > 0) x = at::constant_pad_nd(x, {0, right, 0, below});
  }
  std::vector<at::Tensor> skips, concat_buffers;
  for (size_t level = 0; level < down_.size(); ++level) {
    NormPooled level_output;
    if (joins_in_one(x)) {
      auto& block = static_cast<ConvStack&>(*down_[level]);
      level_output = block.forward_and_pool(x, joins(level) ? config_.channels[level] : 0);
    } else {
      std::tie(level_output.pooled, level_output.y) = maxima_and_features(run(down_[level], {x}), {.kernel = 2, .stride = 2});
    }
    x = level_output.pooled;
    skips.push_back(level_output.y);
    concat_buffers.push_back(level_output.concat_buffer);
  }
  x = dropout_(run(bottleneck_, {x}));
  for (size_t i = 0; i < up_.size(); ++i) {
    const size_t level = up_.size() - 1 - i;
    if (joins(level) && joins_in_one(x)) {
      x = run(blocks_[i], {join_transposed(up_[i], x, skips[level], concat_buffers[level])});
      continue;
    }
    x = run(up_[i], {x});
    std::vector<at::Tensor> joined{x};
    if (joins(level)) joined.push_back(centre_crop(skips[level], x.size(2), x.size(3)));
    x = run(blocks_[i], joined);
  }
  nn::Conv2d classifier(classifier_->ptr<nn::Conv2dImpl>(0));
  const bool whole = config_.padding == ConvPadding::kValid || (x.size(2) == height && x.size(3) == width);
  const PixelClassifier in_loss{x, classifier->weight, classifier->bias};
  if (classifier_->size() == 1 && whole && leaves_to_loss(in_loss)) return {{}, {}, in_loss};
  x = classifier_->size() == 1 ? classify_pixels(classifier, x) : classifier_->forward(x);
  if (config_.padding == ConvPadding::kSame) x = crop(x, 0, 0, height, width);
  return {x, {}};
}

int64_t UNetImpl::valid_output(int64_t size) const {
  for (size_t i = 0; i < down_.size(); ++i) {
    size -= 2 * convs(i);
    if (size <= 1) return 0;
    size /= 2;
  }
  size -= 2 * convs(down_.size());
  for (size_t i = down_.size(); i-- > 0;) {
    size = upsampled(size, config_) - 2 * convs(i);
    if (size <= 0) return 0;
  }
  return size;
}

int64_t UNetImpl::covered(int64_t size) const {
  if (config_.padding == ConvPadding::kSame) return size;
  const int64_t output = valid_output(size);
  TSR_CHECK(output > 0,
            "a U-Net with valid padding needs inputs of at least {} pixels, got {}; use a larger size or padding: same",
            min_size(), size);
  return output;
}

int64_t UNetImpl::min_size() const {
  if (config_.padding == ConvPadding::kSame) return 1;
  int64_t size = 1;
  while (valid_output(size) <= 0) ++size;
  return size;
}

ModelPtr make_unet(const ModelConfig& config, const ModelShape& shape) {
  return std::make_shared<UNetImpl>(config.unet, shape);
}

}  // namespace tessera
