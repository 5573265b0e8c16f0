#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/check/image_look.h"
#include "data/dataset.h"

namespace tessera {

// What some samples tell of a data set, read as its config says.
struct DataLook {
  int64_t samples = 0;                    // of the data set
  std::vector<ImageLook> images;          // of the samples chosen that can be used, in the order of choose_samples
  std::vector<int64_t> pixels_per_class;  // of these
};

// Reads up to `count` samples on `threads` threads, whose number changes nothing. Bad ones are passed over: who uses them
// tells of them.
DataLook look_at_data(const Dataset& dataset, int64_t count, uint64_t seed, int threads);

// The facts of a look. With data.channels=1 colours are gone before anyone sees them, so a few files are opened again.
ImageFacts facts_of(const DataLook& look, const Dataset& dataset, const DataConfig& config, uint64_t seed);

// The image of a sample with the channels that its file shows, whatever data.channels and the labels say. Throws BadSample.
Image stored_image(const Dataset& dataset, int64_t index, const DataConfig& config);

// Sentences about labels: classes that occur in no sample, where so many were read that they should.
std::vector<std::string> label_notes(const DataLook& look, const ClassTable& classes);

// Throws UsageError where not one pixel of the data set is labelled, so that nothing can be learned. Reads on from where the
// look ended only if that found none.
void refuse_unlabelled(const DataLook& look, const Dataset& dataset);

}  // namespace tessera
