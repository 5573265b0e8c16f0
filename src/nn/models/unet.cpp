#include "nn/models/unet.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/features/resize_bilinear.h"
#include "kernels/features/upconv_concat.h"
#include "nn/blocks/batch_norm.h"
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
  // The output and its maxima, see conv_norm_relu_pool.
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

// A slice of everything is left out, since backward would fill and copy a tensor of zeros for it.
at::Tensor crop(const at::Tensor& x, int64_t top, int64_t left, int64_t height, int64_t width) {
  if (x.size(2) == height && x.size(3) == width) return x;
  return x.slice(2, top, top + height).slice(3, left, left + width);
}

at::Tensor centre_crop(const at::Tensor& x, int64_t height, int64_t width) {
  return crop(x, (x.size(2) - height) / 2, (x.size(3) - width) / 2, height, width);
}

// The up path's transposed convolution beside the skip. Where the encoder left free channels in front of the skip, they are
// filled, and nothing is copied. The state of the segments carries that memory as what the skip is a part of: a skip that comes
// from elsewhere, for instance from another rank, has none and is copied.
at::Tensor join_transposed(const nn::Sequential& up, const at::Tensor& x, const at::Tensor& skip) {
  const auto& conv = up->at<nn::ConvTranspose2dImpl>(0);
  const at::ScalarType type = product_type(x);
  const at::Tensor beside = centre_crop(skip, 2 * x.size(2), 2 * x.size(3)).to(type);
  const at::Tensor buffer = beside.is_same(skip) ? concat_buffer_around(skip, conv.weight.size(1)) : at::Tensor();
  return upconv2x2_concat(x.to(type), conv.weight.to(type), conv.bias, beside, buffer);
}

}  // namespace

// On a GPU passes over memory are what costs; on a CPU libtorch's operations are as fast.
bool UNetImpl::joins_in_one(const at::Tensor& x) const {
  return config_.up == UpPath::kTransposed && !config_.checkpoint && !checkpoints_all() && x.is_cuda() && use_fused(x);
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
  for (int64_t height = 1; height <= config.deep_supervision; ++height) {
    const nn::Conv2d conv(nn::Conv2dOptions(channels[static_cast<size_t>(height)], shape.num_classes, 1));
    supervision_.push_back(register_module("supervision" + std::to_string(height), conv));
  }
}

std::vector<Segment> UNetImpl::make_segments() {
  std::vector<Segment> all;
  const auto add = [&](const std::string& name, const std::vector<std::string>& parts, size_t carried,
                       TensorsFunction compute) {
    all.push_back(
        {.name = name, .parts = parts, .compute = std::move(compute), .carried = carried, .checkpoint = config_.checkpoint});
  };
  const size_t top = down_.size();
  add("encoder0", {"down0"}, 0, [this](const Tensors& in) {
    Tensors out = encode(0, padded(in[0]));
    out.insert(out.begin(), size_tensor(in[0]));
    return out;
  });
  size_t carried = joins(0) ? 2 : 1;  // the size, then the skips
  for (size_t height = 1; height < top; ++height) {
    const std::string number = std::to_string(height);
    add("encoder" + number, {"down" + number}, carried++, [this, height](const Tensors& in) { return encode(height, in[0]); });
  }
  add("bottleneck", {"bottleneck"}, carried,
      [this](const Tensors& in) -> Tensors { return {dropout_(bottleneck_->forward(in[0]))}; });
  for (size_t height = top; height-- > 0;) {
    if (joins(height)) --carried;
    const std::string number = std::to_string(height);
    std::vector<std::string> parts{"up" + number, "merge" + number};
    if (supervises(height)) parts.push_back("supervision" + number);
    // Behind x travel the logits of the heights below, the nearest first.
    add("decoder" + number, parts, carried, [this, height](const Tensors& in) {
      const auto lower = in.begin() + (joins(height) ? 2 : 1);
      Tensors out{decode(height, {in.begin(), lower})};
      if (supervises(height) && is_training()) out.push_back(classify_pixels(supervision_[height - 1], out[0]));
      out.insert(out.end(), lower, in.end());
      return out;
    });
  }
  all.push_back({.name = "classifier", .parts = {"classifier"}, .compute = [this](const Tensors& in) {
                   Tensors out = classify(in[1], in[0]);
                   for (size_t i = 2; i < in.size(); ++i) out.push_back(unpadded(in[i], in[1], in[0]));
                   return out;
                 }});
  return all;
}

at::Tensor UNetImpl::padded(const at::Tensor& image) const {
  if (config_.padding != ConvPadding::kSame) return image;
  const int64_t height = image.size(2), width = image.size(3), multiple = int64_t{1} << heights();
  const int64_t below = (multiple - height % multiple) % multiple, right = (multiple - width % multiple) % multiple;
  return below > 0 || right > 0 ? at::constant_pad_nd(image, {0, right, 0, below}) : image;
}

// The logits of a lower height cover the padded image, as the features of the top do: where there is padding they are brought
// to that size before it is cut away.
at::Tensor UNetImpl::unpadded(const at::Tensor& logits, const at::Tensor& features, const at::Tensor& size) {
  const int64_t height = size.size(2), width = size.size(3);
  if (features.size(2) == height && features.size(3) == width) return logits;
  return crop(resize(logits, features.sizes().slice(2), /*align_corners=*/false), 0, 0, height, width);
}

Tensors UNetImpl::encode(size_t height, const at::Tensor& x) {
  NormPooled output;
  if (joins_in_one(x)) {
    auto& block = static_cast<ConvStack&>(*down_[height]);
    output = block.forward_and_pool(x, joins(height) ? config_.channels[height] : 0);
  } else {
    std::tie(output.pooled, output.y) = maxima_and_features(down_[height]->forward(x), {.kernel = 2, .stride = 2});
  }
  return joins(height) ? Tensors{output.y, output.pooled} : Tensors{output.pooled};
}

at::Tensor UNetImpl::decode(size_t height, const Tensors& in) {
  const size_t place = up_.size() - 1 - height;
  const at::Tensor& x = in.back();
  Layer& merge = *blocks_[place];
  if (joins(height) && joins_in_one(x)) return merge.forward(join_transposed(up_[place], x, in[0]));
  const at::Tensor risen = up_[place]->forward(x);
  return merge.forward(joins(height) ? concat({risen, centre_crop(in[0], risen.size(2), risen.size(3))}) : risen);
}

Tensors UNetImpl::classify(const at::Tensor& features, const at::Tensor& size) {
  const int64_t height = size.size(2), width = size.size(3);
  nn::Conv2d conv(classifier_->ptr<nn::Conv2dImpl>(0));
  const bool alone = classifier_->size() == 1, same = config_.padding == ConvPadding::kSame;
  const bool whole = !same || (features.size(2) == height && features.size(3) == width);
  if (alone && whole && fuses_classifier({features, conv->weight, conv->bias})) return {features, conv->weight, conv->bias};
  const at::Tensor logits = alone ? classify_pixels(conv, features) : classifier_->forward(features);
  return {same ? crop(logits, 0, 0, height, width) : logits};
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
