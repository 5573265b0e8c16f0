#pragma once
#include "config/experiment.h"
#include "data/batch/loader.h"
#include "data/datasets/dataset_factory.h"
#include "data/transforms/make_pipeline.h"

namespace tessera::testing {

// A run small enough for a test: synthetic shapes, a U-Net of two heights.
inline Experiment tiny_experiment(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all{"data.type=synthetic",
                               "data.synthetic.kind=shapes",
                               "data.synthetic.num_classes=4",
                               "data.synthetic.size=32",
                               "data.train.count=16",
                               "data.val.count=6",
                               "model.unet.channels=[4,8]",
                               "train.batch_size=8",
                               "train.norm_group=2",
                               "train.duration=3ep",
                               "data.threads=2",
                               "run.log_every=1ba",
                               "data.train.transforms=[{random_crop: {size: 24}}, flip]",
                               "optimizer.type=sgd",
                               "optimizer.lr=0.05",
                               "run.pictures=2"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return load_experiment("", all);
}

// Two steps of it on the CPU, in `folder`.
inline Experiment short_run(const std::filesystem::path& folder, const std::string& precision) {
  return tiny_experiment({"train.duration=2ba", "run.dir=" + folder.string(), "run.tensorboard=false", "train.device=cpu",
                          "train.precision=" + precision});
}

inline Batch first_batch(const Experiment& e) {
  const DatasetPtr data = make_dataset(e.data, Split::kTrain);
  const Pipeline pipeline = make_pipeline(e.data, Split::kTrain);
  Quarantine quarantine(data->size(), 0.0);
  return Loader(*data, pipeline, quarantine,
                {.batch_size = e.train.batch_size, .seed = 1, .mix = {e.train.mixup, e.train.cutmix}}, 0)
      .next();
}

}  // namespace tessera::testing
