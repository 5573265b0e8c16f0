#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/model_config.h"
#include "kernels/loss/classifier_loss.h"
#include "nn/blocks/segment.h"

namespace tessera {

struct Experiment;

// Models return logits at their own resolution; upsampling to the labels belongs to the loss, the metric and the predictor.
struct ModelOutput {
  ClassScores scores;  // logits (N, C, h, w); or the fused classifier, while training, where that is in use
  Tensors aux = {};    // logits (N, C, h', w') of auxiliary heads, or of lower heights of a decoder, the top one first

  // The logits, for those who know that there are some: evaluation, and losses without a fused classifier.
  at::Tensor logits() const;

  // Reads what a model's last segment left: {logits}, or {features, weight, bias} of a fused classifier; then aux.
  static ModelOutput of(const Tensors& state);
};

class SegmentationModel : public torch::nn::Module {
 public:
  // x: (N, channels, H, W), any H and W at least `min_size`. The logits cover the whole input unless `covered` says otherwise.
  // Runs the segments in order.
  ModelOutput forward(const at::Tensor& x);

  // The model from the image to the output, see Note [Segments]. The same list, whatever the mode; threads may share it.
  const std::vector<Segment>& segments();

  // How much of an input side the logits cover, in the centre: less than all for valid convolutions.
  virtual int64_t covered(int64_t size) const { return size; }

  // Smallest input side that works.
  virtual int64_t min_size() const { return 1; }

  // Prefixes of the parameters that belong to the head (they may get their own learning rate).
  virtual std::vector<std::string> head_prefixes() const = 0;

  // Draws the weights of a fresh model as its reference does; here, with torch's defaults. The numbers of a parameter are a
  // function of (seed, its name): adding a layer elsewhere does not change them.
  virtual void init(uint64_t seed);

  // From now on every segment keeps only its inputs for the backward pass. False where they all did already. Between two steps.
  bool checkpoint_all();

  // Whether the loss computes the last 1x1 convolution with its own kernel, where a model can leave it.
  void use_fused_classifier(bool on) { use_fused_classifier_ = on; }

  // Names of parameters that weight decay should leave alone, beyond biases and norms.
  virtual std::vector<std::string> no_weight_decay() const { return {}; }

  // For layer-wise learning rates: depths, which are those of the segments, are 0 (nearest the image) to num_depths() - 1 (the
  // head), and a parameter's rate is lr * decay^(num_depths() - 1 - depth_of(name)).
  int64_t num_depths();
  int64_t depth_of(const std::string& parameter);

  // Parts, named by their path ("backbone.layer1", "encoder.pos_embed") or as a segment ("decoder0"), that are not trained from
  // now on: their parameters get no gradient, their layers stay in evaluation mode. Throws UsageError for what is not there.
  void freeze(const std::vector<std::string>& parts);
  // The same for the parts given, until the next call. Parts that are frozen anyway may be among them.
  void rest(const std::vector<std::string>& parts);
  std::vector<at::Tensor> parameters_of(const std::string& part);  // throws UsageError where there are none
  void train(bool on = true) override;

 protected:
  // The segments of a model that has just been built; they may hold `this`. Asked for once.
  virtual std::vector<Segment> make_segments() = 0;

  // Whether `classifier` is left to the loss, in place of the logits that it would make.
  bool fuses_classifier(const PixelClassifier& classifier) const;

  bool checkpoints_all() const { return checkpoints_all_; }

 private:
  bool checkpoints_all_ = false;
  bool use_fused_classifier_ = false;
  std::once_flag segments_made_;
  std::vector<Segment> segments_;
  struct Part {
    std::vector<at::Tensor> parameters;
    std::vector<std::shared_ptr<torch::nn::Module>> modules;
  };
  Part find_part(const std::string& part);
  void check_trains() const;

  std::vector<std::shared_ptr<torch::nn::Module>> frozen_, resting_;
  std::vector<at::Tensor> resting_parameters_;  // that are trained at other times
};

using ModelPtr = std::shared_ptr<SegmentationModel>;

struct ModelShape {
  int64_t in_channels = 3;
  int64_t num_classes = 2;  // output channels
};

// Draws the weights of a fresh model from `seed`: as its reference does, then what config.init and config.zero_gamma change.
void init_weights(SegmentationModel& model, const ModelConfig& config, uint64_t seed);

// The model `config.name`, with weights drawn from `seed`. An unknown name answers with the known ones.
ModelPtr make_model(const ModelConfig& config, const ModelShape& shape, uint64_t seed);
// The model of an experiment whose data has `num_classes`.
ModelPtr make_model(const Experiment& experiment, int num_classes);
std::vector<std::string> model_names();

int64_t count_parameters(const torch::nn::Module& model);

// Stores the weights of convolutions in the order in which those of channels_last images read them, as a training step does.
void use_channels_last(SegmentationModel& model);

}  // namespace tessera
