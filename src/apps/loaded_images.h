#pragma once
#include <memory>
#include <string>
#include <vector>

#include "apps/image_jobs.h"
#include "core/load_budget.h"
#include "core/parallel_map.h"
#include "data/check/image_facts.h"
#include "data/decode/stored_image.h"
#include "data/transforms/make_pipeline.h"
#include "dist/world.h"
#include "infer/image_group.h"
#include "infer/other_images.h"
#include "infer/trained_model.h"

namespace tessera {

// An image as a model takes it, or why there is none.
struct LoadedImage {
  std::shared_ptr<const StoredImage> original = {};  // where pictures are drawn on it
  ImageGroup image = {};
  std::string error = {};
  ImageFacts facts = {};  // of the first images
};

// The number, among the images of all ranks, of a rank's own.
inline int64_t job_number(const World& world, int64_t own) {
  return world.rank() + own * world.size();
}

// The images of a rank's jobs in their order, loaded ahead on threads as far as memory is meant for that. One that found none
// beside others is loaded again, alone.
class LoadedImages {
 public:
  // All must outlive it. draws: the originals are wanted. watch: says of which images the facts are.
  LoadedImages(const std::vector<ImageJob>& jobs, const TrainedModel& trained, const World& world, bool draws,
               const ImageWatch& watch);
  ~LoadedImages() { budget_.open(); }  // or the threads that are joined next would wait for room
  LoadedImages(const LoadedImages&) = delete;
  LoadedImages& operator=(const LoadedImages&) = delete;

  LoadedImage next();  // as often as there are jobs
  void release();      // the last one is no longer in memory

 private:
  struct Loaded {
    LoadedImage image;
    bool again = false;  // there was no memory for it beside others
  };

  LoadedImage load(int64_t job) const;
  LoadedImage decoded(const std::vector<uint8_t>& bytes, int64_t job) const;
  Loaded load_ahead(int64_t job);

  const std::vector<ImageJob>& jobs_;
  const TrainedModel& trained_;
  const World& world_;
  bool draws_;
  const ImageWatch& watch_;
  Pipeline pipeline_;
  int64_t next_ = 0;
  LoadBudget budget_;
  ParallelMap<Loaded> loads_;  // the last member: its threads use the others
};

}  // namespace tessera
