#pragma once
#include <set>
#include <string>

#include "data/check/image_look.h"

namespace tessera {

// How images differ from those a model was trained on, so that its predictions can hardly be right: a sentence, or "". Looks at
// depth, then at channels, then at the values of deep images; 8-bit ones may be dark.
std::string unlike_training(const ImageFacts& trained, const ImageFacts& now);

// The first images of a prediction, beside those of training. Says each kind of difference once.
class ImageWatch {
 public:
  explicit ImageWatch(ImageFacts trained, int64_t images = 8) : trained_(std::move(trained)), images_(images) {}

  // Whether an image of this number, counted from 0, is still looked at.
  bool wants(int64_t number) const { return trained_.known() && number < images_; }

  // A warning that names the image, or "".
  std::string look(const std::string& name, const ImageFacts& image);

 private:
  ImageFacts trained_;
  int64_t images_;
  std::set<std::string> said_;
};

}  // namespace tessera
