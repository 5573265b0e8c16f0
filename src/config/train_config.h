#pragma once
#include <string>
#include <vector>

#include "config/duration.h"
#include "config/ema_config.h"
#include "config/layer_freezing_config.h"
#include "config/micro_batch.h"
#include "config/precise_bn_config.h"
#include "config/progressive_resizing_config.h"
#include "config/sam_config.h"
#include "config/schema.h"
#include "config/swa_config.h"
#include "config/window_size.h"
#include "core/image.h"

namespace tessera {

enum class Precision { kFp32, kBf16, kFp16, kFp64, kTf32, kAuto };
template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 6> names = {"fp32", "bf16", "fp16", "fp64", "tf32", "auto"};
};

// Mixing each sample of a batch with another of it.
struct MixConfig {
  double alpha = 0;
  double probability = 1;
  double chance() const { return alpha > 0 ? probability : 0; }
};
template <class V>
void describe(V& v, MixConfig& c) {
  v.field("alpha", c.alpha, "shares are drawn from Beta(alpha, alpha); 0: off", between(0, 100));
  v.field("probability", c.probability, "of each sample", between(0, 1));
}

struct TrainConfig {
  Duration duration = Duration::epochs(30);
  int64_t batch_size = 16;
  MicroBatch micro_batch;
  int64_t norm_group = 16;
  Precision precision = Precision::kFp32;
  uint64_t seed = 17;
  std::string device = "auto";
  bool channels_last = true;
  int64_t threads = 0;
  bool deterministic = false;
  bool cuda_graph = true;
  MixConfig mixup;
  MixConfig cutmix;
  EmaConfig ema;
  SwaConfig swa;
  PreciseBnConfig precise_bn;
  SamConfig sam;
  ProgressiveResizingConfig progressive_resizing;
  LayerFreezingConfig layer_freezing;
};
template <class V>
void describe(V& v, TrainConfig& c) {
  v.field("duration", c.duration, "length of the run: 30ep, 20000ba");
  v.field("batch_size", c.batch_size, "global: samples per optimizer step over all devices", at_least(1));
  v.field("micro_batch", c.micro_batch,
          "samples per forward pass of a rank, at least what a batch-norm group needs; changes memory, never the result; auto: "
          "the whole batch, and where memory runs out the most that fits, which is found by trying; 0: the whole batch, halved "
          "where "
          "memory runs out",
          at_least(0));
  v.field("norm_group", c.norm_group, "samples that share batch-norm statistics, whatever the micro-batch or number of devices",
          at_least(1));
  v.field(
      "precision", c.precision,
      "bf16 and fp16 compute in that type and keep fp32 weights; fp16 needs a GPU. fp32: on a GPU convolutions round their "
      "inputs to TF32, as in PyTorch; tf32: matrix products too. auto: bf16 where the GPU or CPU is faster with it, else fp32; "
      "decided when the run starts, and kept in it");
  v.field("seed", c.seed, "of weights, order, augmentation and dropout", at_least(0));
  v.field("device", c.device, "auto, cpu, cuda or cuda:N");
  v.field("channels_last", c.channels_last, "memory layout of activations; faster almost everywhere");
  v.field("threads", c.threads,
          "CPU threads for computing, of each rank; 0: one per core that the process may use, beside a GPU at most 4",
          between(0, kMaxThreads));
  v.field("deterministic", c.deterministic,
          "the same bits from run to run on a GPU too, at some cost in speed; on a CPU it is always so");
  v.field("cuda_graph", c.cuda_graph,
          "on one GPU, send the kernels of a pass as one once they are known: small batches no longer wait for the CPU");
  v.group("mixup", c.mixup,
          "MixUp: blend samples and their targets; the share of the other one is the smaller part of the draw");
  v.group("cutmix", c.cutmix, "CutMix: paste a box of another sample, labels included; the draw is the share of pixels kept");
  v.group("ema", c.ema, "moving average of the weights, which evaluation then uses");
  v.group("swa", c.swa, "SWA: mean of the weights towards the end of the run, which evaluation then uses");
  v.group("precise_bn", c.precise_bn, "batch norm's statistics for evaluation");
  v.group("sam", c.sam, "SAM: sharpness-aware minimisation");
  v.group("progressive_resizing", c.progressive_resizing, "smaller images first");
  v.group("layer_freezing", c.layer_freezing, "fewer and fewer layers are trained");
}

enum class EvalSize { kOriginal, kProcessed };
template <>
struct EnumNames<EvalSize> {
  static constexpr std::array<std::string_view, 2> names = {"original", "processed"};
};
enum class EvalWeights { kAverage, kRaw };
template <>
struct EnumNames<EvalWeights> {
  static constexpr std::array<std::string_view, 2> names = {"average", "raw"};
};
enum class WindowWeights { kFlat, kGaussian };
template <>
struct EnumNames<WindowWeights> {
  static constexpr std::array<std::string_view, 2> names = {"flat", "gaussian"};
};

struct WindowConfig {
  WindowSize size;
  Size stride{0, 0};
  int64_t batch = 16;
  WindowWeights weights = WindowWeights::kGaussian;
};
template <class V>
void describe(V& v, WindowConfig& c) {
  v.field("size", c.size,
          "sliding window; 0: the whole image at once; auto: windows of the training crop's size for an image of more than "
          "2048 x 2048 "
          "pixels and more than 16 such crops, else the whole image",
          at_least(0));
  v.field("stride", c.stride, "step between windows; 0: two thirds of the size", at_least(0));
  v.field("batch", c.batch, "windows per forward pass", at_least(1));
  v.field("weights", c.weights, "how overlapping windows are averaged");
}

enum class ExtraMetric { kBoundary, kObjects };
template <>
struct EnumNames<ExtraMetric> {
  static constexpr std::array<std::string_view, 2> names = {"boundary", "objects"};
};

struct BoundaryConfig {
  double ratio = 0.02;
};
template <class V>
void describe(V& v, BoundaryConfig& c) {
  v.field("ratio", c.ratio, "width of a boundary as a share of the image's diagonal; at least one pixel", between(0, 1));
}

struct ObjectsConfig {
  std::vector<std::string> classes;
};
template <class V>
void describe(V& v, ObjectsConfig& c) {
  v.field("classes", c.classes, "classes whose objects are counted; empty: all but the one called background");
}

struct EvalConfig {
  Duration every = Duration::epochs(1);
  int64_t batch_size = 0;
  EvalSize at = EvalSize::kOriginal;
  WindowConfig window;
  std::vector<double> scales = {1.0};
  bool flip = false;
  double threshold = 0.5;
  EvalWeights weights = EvalWeights::kAverage;
  std::vector<ExtraMetric> metrics;
  BoundaryConfig boundary;
  ObjectsConfig objects;
};
template <class V>
void describe(V& v, EvalConfig& c) {
  v.field("every", c.every, "how often during training; the end is always evaluated");
  v.field("batch_size", c.batch_size, "images of equal size per forward pass; 0: as train.batch_size", at_least(0));
  v.field("at", c.at,
          "original: predictions are taken back to the image's own size; processed: measured as the network sees it");
  v.group("window", c.window, "sliding-window inference");
  v.field("scales", c.scales, "average over the image at these scales", positive());
  v.field("flip", c.flip, "average with the mirrored image");
  v.field("threshold", c.threshold,
          "data.labels.multi, and bce of two classes: a class is there where its probability is above this", between(0, 1));
  v.field("weights", c.weights, "average: those of train.ema or train.swa, where a run has them; raw: those that are trained");
  v.field("metrics", c.metrics,
          "measured beside the scores of pixels: boundary (boundary IoU), objects (connected regions: counts, F1 at IoU 0.5, "
          "panoptic quality)");
  v.group("boundary", c.boundary, "boundary IoU");
  v.group("objects", c.objects, "scores of objects");
}

struct CheckpointConfig {
  Duration every = Duration::epochs(1);
  int64_t keep_last = 2;
  std::string best_metric = "mean_iou";
  bool keep_best = true;
  int64_t early_stop = 0;
};
template <class V>
void describe(V& v, CheckpointConfig& c) {
  v.field("every", c.every, "how often to save; the end is always saved");
  v.field("keep_last", c.keep_last, "how many of the newest to keep", at_least(1));
  v.field(
      "best_metric", c.best_metric,
      "validation metric that 'best' and early stopping look at (higher is better): mean_iou, pixel_accuracy, mean_f1, ..., or "
      "that of one class: iou/NAME, f1/NAME, recall/NAME; docs/evaluation.md lists them");
  v.field("keep_best", c.keep_best, "keep the best one as well");
  v.field("early_stop", c.early_stop, "stop after this many evaluations without a better one; 0: never", at_least(0));
}

enum class RunPermissions { kAuto, kPrivate, kGroup, kUmask };
template <>
struct EnumNames<RunPermissions> {
  static constexpr std::array<std::string_view, 4> names = {"auto", "private", "group", "umask"};
};

struct RunConfig {
  std::string dir;
  std::string name;
  std::string upload;
  RunPermissions permissions = RunPermissions::kAuto;
  Duration log_every = Duration::batches(10);
  bool tensorboard = true;
  int64_t pictures = 8;
};
template <class V>
void describe(V& v, RunConfig& c) {
  v.field("dir", c.dir, "folder of the run; default: runs/<name>");
  v.field("name", c.name, "a name below runs/; default: the config file's name");
  v.field(
      "upload", c.upload,
      "s3://BUCKET/FOLDER or gs://BUCKET/FOLDER: the run's folder is copied there, below its own name, while it runs; --resume "
      "fetches it where it is newer than what is here; docs/storage.md");
  v.field("permissions", c.permissions,
          "who may read the run: private: you alone; group: your group too; umask: whoever your umask lets; auto: private, but "
          "group below a folder that is set-group-ID, and umask below one with an access control list for new files");
  v.field("log_every", c.log_every, "how often to log a training line");
  v.field("tensorboard", c.tensorboard, "write TensorBoard events");
  v.field("pictures", c.pictures, "best and worst predictions shown in the report, each", at_least(0));
}

}  // namespace tessera
