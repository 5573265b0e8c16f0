#pragma once
#include <map>
#include <string>
#include <vector>

#include "config/transform_config.h"

namespace tessera {

enum class SourceType { kPairs, kAde20k, kCoco, kSynthetic, kMds, kTfrecord, kTar };
template <>
struct EnumNames<SourceType> {
  static constexpr std::array<std::string_view, 7> names = {"pairs", "ade20k", "coco", "synthetic", "mds", "tfrecord", "tar"};
};

// Types whose samples lie in shards, files of many samples each.
inline bool in_shards(SourceType type) {
  return type == SourceType::kMds || type == SourceType::kTfrecord || type == SourceType::kTar;
}

enum class MissingMask { kError, kEmpty };
template <>
struct EnumNames<MissingMask> {
  static constexpr std::array<std::string_view, 2> names = {"error", "empty"};
};

// Raw mask values to classes.
struct LabelConfig {
  bool binary = false;
  bool multi = false;
  MissingMask missing = MissingMask::kError;
  int64_t offset = 0;
  std::map<int64_t, int64_t> map;
  std::vector<int64_t> ignore;
  std::vector<std::vector<int64_t>> colors;
  friend bool operator==(const LabelConfig&, const LabelConfig&) = default;
};
template <class V>
void describe(V& v, LabelConfig& c) {
  v.field("binary", c.binary, "0 is class 0, everything else class 1 (masks of 0 and 255, or instance numbers)");
  v.field("multi", c.multi,
          "classes may overlap: a mask file, or a channel of one, for each class, on where it is not 0; docs/data.md, Classes "
          "that overlap");
  v.field("missing", c.missing,
          "with multi, a class without a mask file: error: the sample is bad; empty: the class is not there");
  v.field("offset", c.offset, "added to each value: -1 turns 1..150 into 0..149; what becomes negative is ignored");
  v.field("map", c.map, "value: class, applied before offset; a value not in a non-empty map is an error");
  v.field("ignore", c.ignore, "values that count nowhere; of colour masks 0xRRGGBB", at_least(0));
  v.field("colors", c.colors, "RGB masks: the colour [r, g, b] of class 0, 1, ...; a colour not listed is an error",
          between(0, 255));
}

struct SplitConfig {
  std::string path;
  std::string images;
  std::string masks;
  std::string list;
  int64_t count = 0;
  std::vector<TransformConfig> transforms;
};
template <class V>
void describe(V& v, SplitConfig& c) {
  v.field("path", c.path, "root folder of this split; default: data.path");
  v.field("images", c.images, "pairs: folder of images below path; coco: folder of images");
  v.field("masks", c.masks, "pairs: folder of masks below path; coco: the instances JSON file");
  v.field("list", c.list, "file with one sample stem per line: only these, in this order");
  v.field("count", c.count, "use the first n samples only (synthetic: how many to make); 0: all", at_least(0));
  v.field("transforms", c.transforms, "what is done to each sample, in order; of test, where empty: what is done to val");
}

enum class CocoClasses { kSupercategory, kCategory, kBinary };
template <>
struct EnumNames<CocoClasses> {
  static constexpr std::array<std::string_view, 3> names = {"supercategory", "category", "binary"};
};
enum class PaintOrder { kLargestFirst, kFile };
template <>
struct EnumNames<PaintOrder> {
  static constexpr std::array<std::string_view, 2> names = {"largest_first", "file"};
};

struct CocoConfig {
  CocoClasses classes = CocoClasses::kSupercategory;
  bool background = true;
  PaintOrder order = PaintOrder::kLargestFirst;
  bool crowds = true;
  bool allow_outside = false;
};
template <class V>
void describe(V& v, CocoConfig& c) {
  v.field("classes", c.classes,
          "what a class is: the 12 supercategories, the categories in order of their id, or object / no object");
  v.field("background", c.background,
          "class 0 is background and objects start at 1; false: objects start at 0 and background is ignored");
  v.field("order", c.order, "where instances overlap: largest_first keeps the small one visible; file lets the later one win");
  v.field("crowds", c.crowds, "paint crowd regions (RLE) too; false: their pixels are ignored");
  v.field("allow_outside", c.allow_outside,
          "read images whose file_name leads out of the data folder (an absolute path, or one with ..); false: such samples "
          "are bad");
}

enum class SyntheticKind { kCells, kShapes };
template <>
struct EnumNames<SyntheticKind> {
  static constexpr std::array<std::string_view, 2> names = {"cells", "shapes"};
};

struct SyntheticConfig {
  SyntheticKind kind = SyntheticKind::kCells;
  Size size{128, 128};
  int64_t num_classes = 5;
  uint64_t seed = 0;
};
template <class V>
void describe(V& v, SyntheticConfig& c) {
  v.field("kind", c.kind,
          "cells: microscopy-like fields of touching nuclei, 2 classes; shapes: coloured figures, num_classes classes");
  v.field("size", c.size, "image size", at_least(16));
  v.field("num_classes", c.num_classes, "shapes: classes including the background", between(2, 4096));
  v.field("seed", c.seed, "image i is a function of (seed, split, i)", at_least(0));
}

// Samples in shards.
struct RecordsConfig {
  std::string image = {};
  std::string labels = {};
  std::string id = {};
  int64_t shuffle_block = 16384;
  int64_t predownload = 0;
  friend bool operator==(const RecordsConfig&, const RecordsConfig&) = default;
};
template <class V>
void describe(V& v, RecordsConfig& c) {
  v.field("image", c.image, "column (mds), feature (tfrecord) or ending (tar) of images; empty: found by its usual names");
  v.field("labels", c.labels, "the same of masks");
  v.field("id", c.id, "the same of what a sample is called");
  v.field("shuffle_block", c.shuffle_block,
          "samples of whole shards that are mixed with one another: more mixes better, fewer need fewer shards at a time; 0: "
          "all of the data set",
          at_least(0));
  v.field("predownload", c.predownload, "samples ahead whose shards are fetched meanwhile; 0: those of 8 batches", at_least(0));
}

// What is kept of samples that were read once.
enum class SampleCacheKind { kNone, kEncoded, kDecoded };
template <>
struct EnumNames<SampleCacheKind> {
  static constexpr std::array<std::string_view, 3> names = {"none", "encoded", "decoded"};
};

// Files that lie elsewhere: data.path is a URL.
struct RemoteConfig {
  std::string cache;
  std::string cache_limit = "100GB";
  int64_t timeout = 60;
  int64_t retries = 8;
};
template <class V>
void describe(V& v, RemoteConfig& c) {
  v.field("cache", c.cache,
          "folder where fetched files are kept, for all jobs of the host; empty: data/ in the folder of downloaded weights");
  v.field(
      "cache_limit", c.cache_limit,
      "bytes that this folder may have, as 100GB or 512MiB; those unused for longest are removed. The lowest of the jobs that "
      "share it counts");
  v.field("timeout", c.timeout,
          "seconds for a connection, and without a kilobyte per second, before a transfer is taken for broken",
          between(1, 86400));
  v.field("retries", c.retries, "further tries of a transfer that broke or was refused by a busy server, with growing pauses",
          between(0, 1000));
}

enum class NormalizeMode { kAuto, kFixed, kPerImage, kPercentile, kRange };
template <>
struct EnumNames<NormalizeMode> {
  static constexpr std::array<std::string_view, 5> names = {"auto", "fixed", "per_image", "percentile", "range"};
};

struct NormalizeConfig {
  NormalizeMode mode = NormalizeMode::kAuto;
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
  double low = 0.01;
  double high = 0.99;
  std::vector<double> low_value;
  std::vector<double> high_value;
  friend bool operator==(const NormalizeConfig&, const NormalizeConfig&) = default;
};
template <class V>
void describe(V& v, NormalizeConfig& c) {
  v.field(
      "mode", c.mode,
      "fixed: (x - mean) / std of x scaled by the depth's largest value; range: low_value..high_value to 0..1, then fixed; "
      "per_image: each image to mean 0, variance 1; percentile: low..high of each image to 0..1, then fixed; auto: decided "
      "when the run starts, and kept in it: fixed for 8-bit grey and RGB images and where mean or std is set, else range by "
      "percentiles of the training images");
  v.field(
      "mean", c.mean,
      "of pixel values scaled to 0..1; one value or one per channel; the default is ImageNet's, of other than 3 channels its "
      "average 0.449. With mode fixed and range new pixels of padding and rotation get it, and so become 0; else they are "
      "black");
  v.field("std", c.std, "of pixel values scaled to 0..1; one value or one per channel; default as for mean (0.226)",
          positive());
  v.field("low", c.low, "mode percentile: share of an image's values below what becomes 0", between(0, 1));
  v.field("high", c.high, "mode percentile: share of an image's values below what becomes 1", between(0, 1));
  v.field("low_value", c.low_value, "mode range: the value, as in the files, that becomes 0; one or one per channel");
  v.field("high_value", c.high_value,
          "mode range: the value, as in the files, that becomes 1; one or one per channel. Values beyond are not clipped");
}

// Whether new pixels get the mean and every pixel is normalised without a look at others. What auto stands for is decided
// before pixels come: left to itself it is fixed.
inline bool acts_per_pixel(NormalizeMode mode) {
  return mode == NormalizeMode::kFixed || mode == NormalizeMode::kRange || mode == NormalizeMode::kAuto;
}

// What is taken of files that hold more than one picture; z and t as parse_plane_choice reads them.
struct ImageConfig {
  std::vector<std::string> channels;
  std::string z = "all";
  std::string t = "all";
};
template <class V>
void describe(V& v, ImageConfig& c) {
  v.field("channels", c.channels,
          "channels to take, in this order, by name (OME-TIFF, ImageJ; red, green, blue of colour images) or number from 0; "
          "empty: all. One is a grey image, of others data.channels must be their number");
  v.field("z", c.z, "of a stack in depth: all (planes become channels), middle, max (maximum projection) or a number from 0");
  v.field("t", c.t, "of a series in time: all (times become channels), middle, max (maximum projection) or a number from 0");
}

// Where Pillow gives up: twice its MAX_IMAGE_PIXELS.
inline constexpr int64_t kUsualMaxPixels = 178'956'970;

enum class SamplerKind { kShuffled, kBalanced };
template <>
struct EnumNames<SamplerKind> {
  static constexpr std::array<std::string_view, 2> names = {"shuffled", "balanced"};
};

struct BalanceConfig {
  double strength = 1;
  double temperature = 0.01;
  int64_t min_pixels = 1;
};
template <class V>
void describe(V& v, BalanceConfig& c) {
  v.field("strength", c.strength, "share of the draws that go by classes; the others are spread evenly over all samples",
          between(0, 1));
  v.field(
      "temperature", c.temperature,
      "T of exp((1 - share of the class) / T): the smaller, the more often the rarest classes; the larger, the more alike all "
      "of them",
      between(1e-4, 1e4));
  v.field("min_pixels", c.min_pixels, "a sample shows a class from so many labelled pixels on", at_least(1));
}

struct DataConfig {
  SourceType type = SourceType::kPairs;
  std::string path;
  std::string fetch;
  int64_t channels = 3;
  ImageConfig image;
  bool exif_orientation = true;
  int64_t max_pixels = kUsualMaxPixels;
  std::vector<std::string> classes;
  std::vector<std::vector<int64_t>> palette;
  SplitConfig train;
  SplitConfig val;
  SplitConfig test;
  double val_share = 0.2;
  uint64_t split_seed = 0;
  LabelConfig labels;
  CocoConfig coco;
  SyntheticConfig synthetic;
  RecordsConfig records;
  RemoteConfig remote;
  NormalizeConfig normalize;
  SampleCacheKind cache = SampleCacheKind::kNone;
  std::string cache_limit;
  std::string cache_dir;
  int64_t threads = 0;
  int64_t prefetch = 4;
  double max_bad_share = 0.01;
  SamplerKind sampler = SamplerKind::kShuffled;
  BalanceConfig balance;
};
template <class V>
void describe(V& v, DataConfig& c) {
  v.field("type", c.type, "where samples come from");
  v.field("path", c.path, "root folder of the data set");
  v.field(
      "fetch", c.fetch,
      "a name of `tessera data fetch --list`, or true where data.path is called as that data set is: where data.path is not "
      "there yet it is fetched, once per host, before the first sample is read; docs/data.md, Fetching");
  v.field("channels", c.channels, "1 grey, 3 RGB, other: taken as in the file, which must have that many", between(1, 256));
  v.group("image", c.image, "what is taken of files with several channels, planes or times");
  v.field("exif_orientation", c.exif_orientation, "turn JPEGs, PNGs and WebPs as their EXIF tag says");
  v.field("max_pixels", c.max_pixels,
          "an image or mask of more pixels (height x width) is refused before memory is taken for it; the default is where "
          "Pillow gives up; raise it for larger scans, up to 2^30",
          between(1, 1 << 30));
  v.field("classes", c.classes, "class names in order; needed by pairs, known for the others");
  v.field("palette", c.palette, "colours [r, g, b] to draw the classes in; default: a fixed distinct set", between(0, 255));
  v.group("train", c.train, "samples to learn from");
  v.group("val", c.val, "samples to measure on while training");
  v.group("test", c.test, "samples that training never sees, for `eval --split test`");
  v.field("val_share", c.val_share, "pairs and coco without a val of their own: share of train held out for val",
          between(0, 1));
  v.field("split_seed", c.split_seed, "which samples val_share takes", at_least(0));
  v.group("labels", c.labels, "mask values to classes");
  v.group("coco", c.coco, "for type coco");
  v.group("synthetic", c.synthetic, "for type synthetic");
  v.group("records", c.records, "for types mds, tfrecord and tar");
  v.group("remote", c.remote, "where data.path is a URL: s3://, gs://, http(s)://; docs/storage.md");
  v.group("normalize", c.normalize, "pixel values to network input");
  v.field(
      "cache", c.cache,
      "samples kept on a disk of this host, for all its ranks, other jobs and later runs: encoded: files as they are, for data "
      "on slow disks or networks; decoded: pixels and labels, for CPUs that decode too slowly; docs/data.md, Caching");
  v.field(
      "cache_limit", c.cache_limit,
      "bytes that the cache may have on the disk, as 200GB or 512MB; empty: the lesser of half the memory this process may use "
      "and half of what is free on the disk");
  v.field("cache_dir", c.cache_dir,
          "folder of the cache, on a disk of this host; empty: samples/ in the folder of downloaded weights");
  v.field("threads", c.threads,
          "threads of each rank that read and decode, in every command; 0: the CPUs that mask and quota grant, divided by the "
          "ranks on the host",
          between(0, kMaxThreads));
  v.field("prefetch", c.prefetch, "batches made ahead at most", at_least(1));
  v.field("max_bad_share", c.max_bad_share,
          "stop when more than this share of the samples (and more than one) is unusable; 0: at the first", between(0, 1));
  v.field("sampler", c.sampler,
          "which samples an epoch of training has: shuffled: each once; balanced: as many, those with rare classes more often; "
          "labels are counted once, before the first step; docs/data.md, Rare classes first");
  v.group("balance", c.balance, "for sampler balanced");
}

}  // namespace tessera
