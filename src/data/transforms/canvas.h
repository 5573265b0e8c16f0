#pragma once
#include <cstdint>
#include <vector>

#include "core/image.h"
#include "data/sample.h"
#include "data/transforms/fill.h"
#include "data/transforms/transform.h"

namespace tessera {

// Note [Planned geometry]
// Transforms that only move pixels do so through a canvas. SampleCanvas does at once what they ask for; GeometryPlan writes
// down where the pixels of the result come from before anything is decoded, so that only these are decoded and computed. Both
// answer the same questions alike and draw nothing themselves: a transform draws the same numbers on either, and the result is
// the same to the bit.

// A sample's image and labels as they stand after all that was done to them.
class Canvas {
 public:
  virtual ~Canvas() = default;
  virtual Size size() const = 0;
  virtual bool labelled() const = 0;

  // How many pixels of a window, which lies within, are of class k = 0, 1, ...: as many numbers as there is need of.
  virtual std::vector<int64_t> count_classes(int top, int left, Size size) const = 0;

  // As the functions of window.h and flip.h.
  virtual void scale(Size size) = 0;
  virtual void take_window(int top, int left, Size size, const Fill& fill) = 0;
  virtual void flip_horizontal() = 0;
  virtual void flip_vertical() = 0;
};

class SampleCanvas : public Canvas {
 public:
  explicit SampleCanvas(Sample& sample) : sample_(sample) {}
  Size size() const override { return sample_.image.size(); }
  bool labelled() const override { return sample_.labels.has_value(); }
  std::vector<int64_t> count_classes(int top, int left, Size size) const override;
  void scale(Size size) override;
  void take_window(int top, int left, Size size, const Fill& fill) override;
  void flip_horizontal() override;
  void flip_vertical() override;

 private:
  Sample& sample_;
};

// A transform that only moves pixels.
class MovingTransform : public Transform {
 public:
  void apply(Sample& sample, Rng rng) const final {
    SampleCanvas canvas(sample);
    move(canvas, rng);
  }
  virtual void move(Canvas& canvas, Rng rng) const = 0;
};

}  // namespace tessera
