#include "data/loading/transformed_sample.h"

#include <optional>
#include <utility>
#include <vector>

#include "data/decode/image_part.h"
#include "data/decode/stored_labels.h"
#include "data/transforms/geometry_plan.h"
#include "data/transforms/make_pipeline.h"
#include "data/transforms/planned_image.h"

namespace tessera {
namespace {

// A thread keeps the memory of the parts it decodes, up to this.
constexpr size_t kMostKeptBytes = size_t{16} << 20;

// Whether there is anything to plan.
bool begins_with_movement(const Pipeline& pipeline) {
  return !pipeline.empty() && dynamic_cast<const MovingTransform*>(pipeline[0].get()) != nullptr;
}

// Lets the transforms of the pipeline write down what they do, as far as that can be written down. Returns the first that is
// left to be applied.
size_t plan_movements(const Pipeline& pipeline, const Rng& rng, GeometryPlan& plan) {
  for (size_t k = 0; k < pipeline.size(); ++k) {
    const auto* moving = dynamic_cast<const MovingTransform*>(pipeline[k].get());
    if (moving == nullptr) return k;
    GeometryPlan next = plan;
    moving->move(next, rng.fork(static_cast<uint32_t>(k)));
    if (!next.possible()) return k;
    plan = std::move(next);
  }
  return pipeline.size();
}

// Nothing where the mask does not fit the image.
std::optional<Sample> planned_sample(const EncodedSample& stored, const SampleCoding& coding, int num_classes,
                                     const Pipeline& pipeline, const SampleDraw& draw, StageTimes& times) {
  StageClock clock(times);
  PartialImage image(stored.image.bytes, *coding.options);
  clock.end(LoadStage::kDecode);
  std::optional<StoredLabels> labels;
  if (coding.labelled) {
    labels = decode_stored_labels(stored.labels.bytes, *coding.rules, num_classes, coding.options->exif_orientation,
                                  coding.options->max_pixels);
    if (labels->size() != image.size()) return std::nullopt;
  }
  GeometryPlan plan(image.size(), labels ? &*labels : nullptr);
  const size_t rest = plan_movements(pipeline, Rng(draw.seed, Stream::kAugment, draw.epoch, draw.draw), plan);
  Sample sample;
  sample.id = stored.id;
  if (labels) sample.labels = planned_labels(plan, *labels);
  sample.placement = plan.placement();
  clock.end(LoadStage::kLabels);

  thread_local std::vector<uint8_t> memory;
  ImagePart part = image.decode(needed_area(plan), std::move(memory));
  clock.end(LoadStage::kDecode);
  sample.image = planned_image(plan, part);
  if (part.image.is_bytes() && part.image.bytes().capacity() <= kMostKeptBytes) memory = std::move(part.image.bytes());
  clock.end(LoadStage::kResize);
  run_pipeline(pipeline, sample, draw.seed, draw.epoch, draw.draw, rest);
  clock.end(LoadStage::kTransform);
  ++times.planned;
  return sample;
}

}  // namespace

Sample transformed_sample(const Dataset& dataset, int64_t index, const Pipeline& pipeline, const SampleDraw& draw,
                          StageTimes& times) {
  ++times.samples;
  const std::optional<SampleCoding> coding = begins_with_movement(pipeline) ? dataset.coding() : std::nullopt;
  if (coding && !coding->rules->multi) {
    StageClock clock(times);
    const std::optional<EncodedSample> stored = dataset.encoded(index);
    clock.end(LoadStage::kRead);
    // What is wrong with a sample is said by who decodes the whole of it.
    try {
      if (stored) {
        if (auto sample = planned_sample(*stored, *coding, dataset.classes().size(), pipeline, draw, times))
          return *std::move(sample);
      }
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {
    }
  }
  StageClock clock(times);
  Sample sample = dataset.get(index);
  clock.end(LoadStage::kDecode);
  run_pipeline(pipeline, sample, draw.seed, draw.epoch, draw.draw);
  clock.end(LoadStage::kTransform);
  return sample;
}

}  // namespace tessera
