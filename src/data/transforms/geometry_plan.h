#pragma once
#include "data/decode/image_part.h"
#include "data/decode/stored_labels.h"
#include "data/transforms/canvas.h"

namespace tessera {

// What a sequence of movements does to an image that nobody has decoded yet: Note [Planned geometry]. The image is scaled once,
// then a window is taken of it, then that is mirrored.
class GeometryPlan : public Canvas {
 public:
  // labels: what count_classes looks at; null where the sample has none. They must outlive the plan.
  GeometryPlan(Size image, const StoredLabels* labels);

  Size size() const override { return frame_size(); }
  bool labelled() const override { return labels_ != nullptr; }
  std::vector<int64_t> count_classes(int top, int left, Size size) const override;
  void scale(Size size) override;
  void take_window(int top, int left, Size size, const Fill& fill) override;
  void flip_horizontal() override;
  void flip_vertical() override;

  // False once something was asked for that is not a plan of this form: scaling what is no longer whole, or two fills.
  bool possible() const { return possible_; }

  Size image() const { return image_; }
  Size scaled() const { return scaled_; }
  const PixelArea& frame() const { return frame_; }  // of the scaled image, the result before it is mirrored; may reach beyond
  const PixelArea& visible() const { return visible_; }  // the part of the frame that shows the image; the rest gets fill()
  bool mirrors_columns() const { return mirrors_columns_; }
  bool mirrors_rows() const { return mirrors_rows_; }
  const Fill& fill() const { return fill_; }
  const Placement& placement() const { return placement_; }

 private:
  Size frame_size() const { return {frame_.bottom - frame_.top, frame_.right - frame_.left}; }
  PixelArea in_scaled(int top, int left, Size size) const;

  Size image_, scaled_;
  PixelArea frame_, visible_;
  bool mirrors_columns_ = false, mirrors_rows_ = false, whole_ = true, possible_ = true, filled_ = false;
  Fill fill_;
  Placement placement_;
  const StoredLabels* labels_;
};

// The labels of the planned result, (frame) of them.
LabelMap planned_labels(const GeometryPlan& plan, const StoredLabels& labels);

}  // namespace tessera
