#include "infer/overlapped_counter.h"

#include <torch/types.h>

#include <cmath>
#include <memory>
#include <optional>

#include "core/parallel_map.h"

namespace tessera {

std::vector<EvalCounts> count_images(const std::vector<at::Tensor>& labels, const std::vector<at::Tensor>& predicted,
                                     const Counting& counting) {
  // Plain threads and few: a second OpenMP team beside that of the thread which keeps a GPU busy would spin in its way, and
  // made a batch take 1.7 times as long.
  constexpr int kThreads = 4;
  ParallelMap<EvalCounts> counts(std::ssize(labels), kThreads, std::ssize(labels), [&](int64_t i) {
    EvalCounts own(counting);
    own.add(labels[static_cast<size_t>(i)], predicted[static_cast<size_t>(i)]);
    return own;
  });
  std::vector<EvalCounts> images;
  while (std::optional<EvalCounts> next = counts.next()) images.push_back(std::move(*next));
  return images;
}

OverlappedCounter::OverlappedCounter(const Counting& counting, at::Device device)
    : overlaps_(!device.is_cpu()), counting_(counting), total_(counting) {}

void OverlappedCounter::add(std::vector<EvalTruth> truths, std::vector<at::Tensor> predicted) {
  // Shared, as a std::function must be copyable.
  const auto group = std::make_shared<Group>(Group{std::move(truths), Download(std::move(predicted))});
  background_.start([this, group] { count(*group); });
  if (!overlaps_) wait();
}

void OverlappedCounter::count(Group& group) {
  std::vector<at::Tensor> labels;
  for (EvalTruth& truth : group.truths) {
    LabelMap& own = truth.labels;
    labels.push_back(torch::from_blob(own.labels.data(), {own.height, own.width}, torch::kInt16));
  }
  const std::vector<EvalCounts> images = count_images(labels, group.predicted.wait(), counting_);
  for (size_t i = 0; i < images.size(); ++i) {
    total_.add(images[i]);
    const double iou = images[i].report().mean_iou_present;
    if (std::isfinite(iou)) images_.push_back({group.truths[i].index, group.truths[i].id, iou, images[i].by_class()});
  }
  num_images_ += std::ssize(group.truths);
}

EvalResult OverlappedCounter::result() const {
  EvalResult result = total_.result();
  result.images = images_;
  result.num_images = num_images_;
  return result;
}

}  // namespace tessera
