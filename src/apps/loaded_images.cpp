#include "apps/loaded_images.h"

#include <algorithm>
#include <utility>

#include "apps/file_facts.h"
#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/memory_limit.h"
#include "data/batch/stored_pixels.h"
#include "data/datasets/load_sample.h"
#include "data/decode/decode.h"
#include "data/sample.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

// Images that are read ahead take no more memory than this together; before one is read its size is guessed by its file's.
constexpr int64_t kBytesAhead = int64_t{1} << 30;
constexpr int64_t kBytesOfFileByte = 8;

int threads_of(const TrainedModel& trained, const World& world) {
  return loader_threads(trained.experiment.data.threads, world.spec.local_world_size);
}

}  // namespace

LoadedImages::LoadedImages(const std::vector<ImageJob>& jobs, const TrainedModel& trained, const World& world, bool draws,
                           const ImageWatch& watch)
    : jobs_(jobs),
      trained_(trained),
      world_(world),
      draws_(draws),
      watch_(watch),
      pipeline_(make_pipeline(trained.experiment.data, Split::kVal)),
      budget_(std::min(kBytesAhead, memory_for_reading_ahead(world.spec.local_world_size))),
      loads_(std::ssize(jobs), threads_of(trained, world), 2 * threads_of(trained, world),
             [this](int64_t job) { return load_ahead(job); }) {}

LoadedImage LoadedImages::decoded(const std::vector<uint8_t>& bytes, int64_t job) const {
  const DataConfig& data = trained_.experiment.data;
  const bool compared = watch_.wants(job);
  LoadedImage loaded;
  StoredImage image;
  Placement placement;
  if (pipeline_.empty() && world_.size() == 1) {
    // Nothing is done to the whole image: it stays as its file has it, and windows are converted one by one.
    image = decode_stored(bytes, decode_options(data));
    placement = whole_image(image.size());
    if (compared) loaded.facts = facts_of_file(bytes, thinned(image), data);
  } else {
    Image whole = decode_image(bytes, decode_options(data));
    if (compared) loaded.facts = facts_of_file(bytes, whole, data);
    if (draws_ && !pipeline_.empty()) loaded.original = std::make_shared<const StoredImage>(whole);
    placement = whole_image(whole.size());
    Sample sample{"", std::move(whole), std::nullopt, placement};
    run_pipeline(pipeline_, sample, trained_.experiment.train.seed, 0, static_cast<uint64_t>(job_number(world_, job)));
    placement = sample.placement;
    image = StoredImage(std::move(sample.image));
  }
  const auto processed = std::make_shared<const StoredImage>(std::move(image));
  if (draws_ && pipeline_.empty()) loaded.original = processed;
  loaded.image = {stored_tensor(processed), processed->max_value, {placement}, data.channels};
  return loaded;
}

LoadedImage LoadedImages::load(int64_t job) const {
  try {
    return decoded(read_bytes(jobs_[static_cast<size_t>(job)].image), job);
  } catch (const Error& e) {
    return {.error = e.what()};
  }
}

LoadedImages::Loaded LoadedImages::load_ahead(int64_t job) {
  std::error_code unknown;  // a file that is not there is an error of its own, later
  const auto size = static_cast<int64_t>(fs::file_size(jobs_[static_cast<size_t>(job)].image, unknown));
  budget_.enter(job, unknown ? 0 : kBytesOfFileByte * size);
  Loaded loaded;
  try {
    loaded.image = load(job);
  } catch (const std::exception& e) {
    if (why_too_large(e).empty()) throw;
    loaded.again = true;
  }
  const at::Tensor& pixels = loaded.image.image.pixels;
  budget_.resize(job, pixels.defined() ? static_cast<int64_t>(pixels.nbytes()) : 0);
  return loaded;
}

LoadedImage LoadedImages::next() {
  const int64_t job = next_++;
  Loaded loaded = loads_.next().value();
  if (!loaded.again) return std::move(loaded.image);
  release_kept_memory();
  try {
    return load(job);
  } catch (const std::exception& e) {
    const std::string why = why_too_large(e);
    if (why.empty()) throw;
    return {.error = why + " while it was read"};
  }
}

void LoadedImages::release() {
  budget_.leave(next_ - 1);
}

}  // namespace tessera
