#include "infer/data_notes.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include "core/name_list.h"
#include "core/plural.h"
#include "data/datasets/shared_files.h"

namespace tessera {
namespace {

std::string repeated_images(int64_t images, int64_t batch_size) {
  const int64_t least = batch_size / images, most = (batch_size + images - 1) / images;
  return fmt::format(
      "train.batch_size={} is more than the {} {}: each comes {} times in a batch, augmented anew each time, and an epoch is "
      "one step",
      batch_size, images, plural(images, "training image"),
      least == most ? fmt::format("{}", least) : fmt::format("{} or {}", least, most));
}

}  // namespace

std::vector<std::string> data_notes(const Dataset& train, const Dataset& val, int64_t batch_size) {
  std::vector<std::string> notes;
  if (batch_size > train.size()) notes.push_back(repeated_images(train.size(), batch_size));
  if (const auto shared = shared_files(train, val); !shared.empty()) {
    const SharedFile& first = shared[0];
    notes.push_back(fmt::format(
        "{} of {} validation images are training images too (the first: {}{}), so val measures what was learned by heart; "
        "look at data.train and data.val",
        shared.size(), val.size(), first.val, first.copied ? fmt::format(", the same bytes as {} of train", first.train) : ""));
  }
  return notes;
}

std::string unmeasured_classes(const IouReport& report, const ClassTable& classes) {
  std::vector<std::string> unseen;
  for (size_t k = 0; k < report.classes.size(); ++k) {
    if (report.classes[k].pixels == 0) unseen.push_back(classes.names.at(k));
  }
  if (unseen.empty() || unseen.size() == report.classes.size()) return "";
  return fmt::format(
      "{} of {} classes have no labelled pixel in the images measured: {}. What is measured says nothing of them; `tessera "
      "data check` shows what is in the masks",
      unseen.size(), report.classes.size(), name_list(unseen));
}

std::string LabelWatch::look(const Batch& batch) {
  if (batches_ == 0) return "";
  samples_ += batch.size();
  if (batch.labels.ge(0).any().item<bool>()) {
    batches_ = 0;
  } else if (--batches_ == 0) {
    return fmt::format(
        "not one pixel of the first {} training samples is labelled, so nothing is learned from them; `tessera data check` "
        "shows what is in the masks, data.labels says what their values mean",
        samples_);
  }
  return "";
}

}  // namespace tessera
