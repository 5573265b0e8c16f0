#include "infer/evaluator.h"

#include <torch/types.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>

#include "core/background.h"
#include "core/parallel_map.h"
#include "core/rank_status.h"
#include "data/transforms/make_pipeline.h"
#include "infer/precision.h"
#include "infer/shared_images.h"
#include "infer/too_large.h"
#include "tensor/download.h"
#include "tensor/error_text.h"

namespace tessera {
namespace {

// A loaded sample, or why it is bad.
struct Loaded {
  int64_t index = 0;
  std::optional<EvalSample> good = {};
  BadSampleRecord bad = {};
  bool again = false;  // there was no memory for it beside others
};

// A group of images whose predictions a GPU may still be working on.
struct Measured {
  std::vector<Loaded> group;
  Download predicted;
};

// Images of one block, size and depth share a forward pass.
bool go_together(const Loaded& a, const Loaded& b, int64_t block) {
  const Image &one = a.good->sample.image, &other = b.good->sample.image;
  return a.index / block == b.index / block && one.size() == other.size() && one.is_bytes() == other.is_bytes() &&
         one.max_value == other.max_value;
}

ImageGroup images_of(const std::vector<Loaded>& group, EvalSize at, at::Device device) {
  ImageGroup result;
  std::vector<const Image*> images;
  for (const Loaded& item : group) {
    const Sample& sample = item.good->sample;
    images.push_back(&sample.image);
    result.placements.push_back(at == EvalSize::kOriginal ? std::optional(sample.placement) : std::nullopt);
  }
  result.pixels = image_batch(images, device);
  result.max_value = images[0]->max_value;
  return result;
}

// Nothing where there is no memory to lay so many side by side.
std::optional<ImageGroup> images_that_fit(const std::vector<Loaded>& group, EvalSize at, at::Device device) {
  try {
    return images_of(group, at, device);
  } catch (const std::exception& e) {
    if (group.size() == 1 || why_too_large(e).empty()) throw;
    return std::nullopt;
  }
}

// How an evaluation went on a rank, or on the one where it went worst.
enum class Outcome { kWhole, kStopped, kFailed };

Outcome worst_of(Communicator* ranks, Outcome own) {
  if (ranks == nullptr || ranks->alone()) return own;
  at::Tensor worst = at::scalar_tensor(static_cast<int64_t>(own), at::kLong);
  ranks->max(worst);
  return static_cast<Outcome>(worst.item<int64_t>());
}

}  // namespace

at::Tensor image_tensor(const Image& image) {
  return image_batch({&image}, at::kCPU);
}

at::Tensor image_batch(const std::vector<const Image*>& images, at::Device device) {
  const Image& first = *images.at(0);
  const auto options = torch::TensorOptions(first.is_bytes() ? torch::kUInt8 : torch::kFloat32).pinned_memory(device.is_cuda());
  at::Tensor result = torch::empty({std::ssize(images), first.height, first.width, first.channels}, options);
  const size_t bytes = result.nbytes() / images.size();
  auto* const to = static_cast<std::byte*>(result.mutable_data_ptr());
  for (size_t i = 0; bytes > 0 && i < images.size(); ++i) {
    const Image& image = *images[i];
    const void* from = image.is_bytes() ? static_cast<const void*>(image.bytes().data()) : image.floats().data();
    std::memcpy(to + i * bytes, from, bytes);
  }
  return result;
}

std::vector<ConfusionMatrix> count_images(const std::vector<at::Tensor>& labels, const std::vector<at::Tensor>& predicted,
                                          int num_classes) {
  // Plain threads and few: a second OpenMP team beside that of the thread which keeps a GPU busy would spin in its way, and
  // made a batch take 1.7 times as long.
  constexpr int kThreads = 4;
  ParallelMap<ConfusionMatrix> counts(std::ssize(labels), kThreads, std::ssize(labels), [&](int64_t i) {
    ConfusionMatrix own(num_classes);
    own.add(labels[static_cast<size_t>(i)], predicted[static_cast<size_t>(i)]);
    return own;
  });
  std::vector<ConfusionMatrix> matrices;
  while (std::optional<ConfusionMatrix> next = counts.next()) matrices.push_back(std::move(*next));
  return matrices;
}

Evaluator::Evaluator(const Experiment& experiment, const Dataset& dataset, const Pipeline& pipeline, Quarantine& quarantine,
                     int threads, Communicator* ranks)
    : experiment_(experiment),
      dataset_(dataset),
      pipeline_(pipeline),
      quarantine_(quarantine),
      threads_(threads),
      ranks_(ranks),
      block_(experiment.eval.batch_size > 0 ? experiment.eval.batch_size : experiment.train.batch_size) {
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (ranks_ == nullptr || i / block_ % ranks_->size() == ranks_->rank()) own_.push_back(i);
  }
}

EvalSample Evaluator::load(int64_t index) const {
  EvalSample result;
  result.sample = dataset_.get(index);
  const bool at_original = experiment_.eval.at == EvalSize::kOriginal;
  if (at_original) {
    result.labels = std::move(result.sample.labels.value());
    result.sample.labels.reset();
  }
  // Validation transforms are fixed: epoch 0 whenever it is asked.
  run_pipeline(pipeline_, result.sample, static_cast<uint64_t>(experiment_.train.seed), 0, static_cast<uint64_t>(index));
  if (!at_original) result.labels = std::move(result.sample.labels.value());
  return result;
}

EvalResult Evaluator::run(const Predictor& predictor, const std::function<void(int64_t)>& progress) const {
  const auto begin = std::chrono::steady_clock::now();
  const int num_classes = dataset_.classes().size();
  const KeptCasts kept;
  ConfusionMatrix total(num_classes);
  EvalResult result;

  const auto count = [&](Measured& measured) {
    std::vector<at::Tensor> labels;
    for (const Loaded& item : measured.group) {
      const LabelMap& own = item.good->labels;
      labels.push_back(torch::from_blob(const_cast<int16_t*>(own.labels.data()), {own.height, own.width}, torch::kInt16));
    }
    const std::vector<ConfusionMatrix> matrices = count_images(labels, measured.predicted.wait(), num_classes);
    for (size_t i = 0; i < matrices.size(); ++i) {
      total.add_counts(matrices[i].counts());
      if (const double iou = matrices[i].report().mean_iou_present; std::isfinite(iou)) {
        result.images.push_back({measured.group[i].index, measured.group[i].good->sample.id, iou});
      }
    }
    result.num_images += static_cast<int64_t>(measured.group.size());
  };
  // A group is counted while the next one is sent off and a GPU computes it.
  Background counting;
  const auto compute = [&](std::vector<Loaded> group, const ImageGroup& images, const WindowTeam& team) {
    std::vector<at::Tensor> maps = predictor.class_maps(images.pixels, images.max_value, images.placement_pointers(), team);
    if (!team.leads()) return;
    const auto measured = std::make_shared<Measured>(Measured{std::move(group), Download(std::move(maps))});
    counting.start([&count, measured] { count(*measured); });
    if (predictor.device().is_cpu()) counting.wait();  // both would want all cores
  };
  const int64_t blocks = (dataset_.size() + block_ - 1) / block_;
  std::vector<std::vector<Loaded>> shared;  // groups that all ranks compute together, after their own
  const std::function<void(std::vector<Loaded>)> measure = [&](std::vector<Loaded> group) {
    if (group.empty()) return;
    const Size size = group[0].good->sample.image.size();
    if (ranks_ != nullptr && in_short_round(group[0].index / block_, blocks, ranks_->size()) &&
        predictor.occupies(ranks_->size(), size.height, size.width)) {
      shared.push_back(std::move(group));
      return;
    }
    if (const auto images = images_that_fit(group, experiment_.eval.at, predictor.device())) {
      compute(std::move(group), *images, {});
      return;
    }
    const auto middle = group.begin() + std::ssize(group) / 2;
    std::vector<Loaded> rest(std::make_move_iterator(middle), std::make_move_iterator(group.end()));
    group.erase(middle, group.end());
    measure(std::move(group));
    measure(std::move(rest));
  };

  const auto load_own = [&](int64_t at) {
    Loaded loaded;
    const int64_t index = loaded.index = own_[static_cast<size_t>(at)];
    note_sample(index);
    try {
      loaded.good = load(index);
    } catch (const BadSample& e) {
      loaded.bad = {index, e.id(), e.reason(), ""};
    }
    return loaded;
  };
  const auto measure_own = [&] {
    ParallelMap<Loaded> loads(own_images(), threads_, 2 * block_ + threads_, [&](int64_t at) {
      try {
        return load_own(at);
      } catch (const std::exception& e) {
        if (why_too_large(e).empty()) throw;
        return Loaded{.again = true};
      }
    });
    std::vector<Loaded> group;  // images that share a forward pass
    for (int64_t done = 0; auto loaded = loads.next(); ++done) {
      if (loaded->again) {
        measure(std::exchange(group, {}));
        counting.wait();
        release_kept_memory();
        *loaded = load_own(done);
      }
      if (!loaded->good) {
        quarantine_.add(loaded->bad);
        ++result.num_bad;
      } else {
        if (!group.empty() && !go_together(group[0], *loaded, block_)) measure(std::exchange(group, {}));
        group.push_back(std::move(*loaded));
      }
      if (progress) progress(done + 1);
    }
    measure(std::move(group));
  };

  Outcome own = Outcome::kWhole;
  std::string failure = "another rank's images could not be evaluated; its own log says why";
  try {
    measure_own();
    counting.wait();
  } catch (const PredictionStopped&) {
    own = Outcome::kStopped;
  } catch (const std::exception& e) {
    own = Outcome::kFailed;
    failure = error_text(e);
  }
  const auto go_on = [&](Outcome worst) {
    if (worst == Outcome::kFailed) throw EvaluationFailed(failure);
    if (worst == Outcome::kStopped) throw PredictionStopped();
  };
  go_on(worst_of(ranks_, own));
  if (ranks_ != nullptr) {
    const auto group_at = [&](int64_t i) {
      return images_of(shared[static_cast<size_t>(i)], experiment_.eval.at, predictor.device());
    };
    compute_together(*ranks_, std::ssize(shared), group_at, [&](int64_t i, const ImageGroup& images, const WindowTeam& team) {
      go_on(worst_of(ranks_, predictor.stop_asked() ? Outcome::kStopped : Outcome::kWhole));
      compute(team.leads() ? std::move(shared[static_cast<size_t>(i)]) : std::vector<Loaded>(), images, team);
    });
  }
  counting.wait();

  const at::Tensor counts = total.counts().contiguous();
  result.confusion.assign(counts.const_data_ptr<int64_t>(), counts.const_data_ptr<int64_t>() + counts.numel());
  result.report = total.report();
  result.windows_for_memory = predictor.windows_for_memory();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace tessera
