#pragma once
#include <ATen/core/Tensor.h>

#include <array>
#include <exception>
#include <functional>
#include <optional>
#include <set>

#include "config/experiment.h"
#include "core/error.h"
#include "infer/eval_limits.h"
#include "infer/image_group.h"
#include "infer/prediction_memory.h"
#include "infer/windows/window_classes.h"
#include "infer/windows/window_team.h"
#include "nn/model.h"

namespace tessera {

// Scores of images, (N, K, h, w), in whatever resolution the network left them: (height, width) is the images' own.
struct ImageScores {
  at::Tensor values;
  int64_t height = 0, width = 0;

  ImageScores of(int64_t image) const { return {values.narrow(0, image, 1), height, width}; }
  at::Tensor full() const;  // (N, K, height, width), float32 or float64
};

// Images that do not fit into memory, however few at a time and in whatever windows.
class TooLarge : public Error {
 public:
  using Error::Error;
};

// Thrown where `Predictor::stop_when` says so.
struct PredictionStopped : std::exception {
  const char* what() const noexcept override { return "a prediction was stopped"; }
};

// Images to class scores, the same way in evaluation, prediction and the report: normalise, whole image or sliding windows,
// scales and mirror images averaged, back to the image's own size. What memory does not allow at once is computed in smaller
// parts, down to windows (see EvalLimits), with a warning; images that ranks share (Note [Windows on several ranks]) in smaller
// passes, and then by their leader alone. Throws TooLarge where nothing helps.
class Predictor {
 public:
  // The model must be on `device` already. Copies what it needs of the experiment.
  Predictor(const Experiment& experiment, ModelPtr model, at::Device device);

  // images: (N, H, W, C) as they leave the validation transforms. Scores are logits, or probabilities when several views are
  // averaged; K = 1 for a binary model. Where classes overlap each score is that of one class for itself. team: ranks that call
  // this together, with the same images, and share the windows; the result is the leader's, and that of the others is empty.
  ImageScores scores(const at::Tensor& images, float max_value) const;
  ImageScores scores(const ImageGroup& images, const WindowTeam& team) const;

  // The class of each pixel, at the size of the original image if `placement` says where that lies: (H, W) int16. Where classes
  // overlap, the set of them: Note [Multi-label maps]. scores: of one image.
  at::Tensor classes(const ImageScores& scores, const std::optional<Placement>& placement) const;

  // (K or 2, H, W) float probabilities at the original size.
  at::Tensor probabilities(const ImageScores& scores, const std::optional<Placement>& placement) const;

  // The classes of each image, on the device, which may still be computing them. Equal to classes(scores(...)), but windows of
  // large images need memory for one row of them only.
  std::vector<at::Tensor> class_maps(const ImageGroup& images, const WindowTeam& team = {}) const;

  // The classes of one image, handed to `sink` in rows from top to bottom, on the device. Where an image is cut into windows
  // and keeps its size, memory does not grow with it. Rows may come again from the top, where memory ran out in between.
  void class_rows(const ImageGroup& image, const RowSink& sink) const;

  // Called after each forward pass over windows, with how many of an image's (or a group's) windows are done.
  void watch_windows(std::function<void(int64_t done, int64_t all)> watch) { watch_ = std::move(watch); }

  // Whether an image of this size has windows for more than one of so many ranks.
  bool splits_over(int ranks, int64_t height, int64_t width) const;

  // Throws TooLarge where images of this size and these channels cannot fit into the machine's memory; on a GPU that shows when
  // it is tried.
  void check_memory(int64_t height, int64_t width, int64_t channels) const;

  // Asked before each forward pass, except those that other ranks wait for: true ends the call with PredictionStopped.
  void stop_when(std::function<bool()> asked) { stop_ = std::move(asked); }
  bool stop_asked() const { return stop_ && stop_(); }

  // What was changed because memory ran out and changes predictions; empty: nothing. See EvalLimits::windows.
  std::string windows_for_memory() const { return limits_.windows(); }

  at::Device device() const { return device_; }

 private:
  ImageScores scores_of(const EvalConfig& eval, const at::Tensor& images, float max_value, const WindowTeam& team) const;
  std::vector<at::Tensor> class_maps_of(const EvalConfig& eval, const ImageGroup& images, const WindowTeam& team) const;
  at::Tensor windowed_classes(const EvalConfig& eval, const ImageGroup& images, const WindowTeam& team,
                              const RowSink& sink = {}) const;
  bool streams_windows(const EvalConfig& eval, const ImageGroup& images) const;
  void begin(const EvalConfig& eval, const at::Tensor& images) const;
  at::Tensor network(const at::Tensor& x, const WindowTeam& team) const;                 // (N, C, any size), normalised
  at::Tensor best_class(const at::Tensor& scores, int64_t height, int64_t width) const;  // (N, height, width) int16
  double threshold() const;  // that a score of one class for itself must be above
  bool averages_views() const;
  bool keeps_scale() const;  // one view, which is the image itself

  // The part of an image's scores that shows the original, (1, K, h, w), and the original's size.
  struct Part {
    at::Tensor scores;
    int64_t height, width;
  };
  Part original_part(const ImageScores& scores, const std::optional<Placement>& placement) const;

  template <class Make>
  auto within_memory(const at::Tensor& images, int64_t channels, int64_t count, const Make& make) const
      -> std::optional<decltype(make(EvalConfig()))>;
  template <class Make, class MakeAlone>
  auto on_team(const ImageGroup& images, const WindowTeam& team, const Make& make, const MakeAlone& make_alone) const
      -> decltype(make_alone());
  std::string why_not_tried(const EvalConfig& eval, int64_t count, int64_t height, int64_t width, int64_t channels) const;

  EvalConfig eval_for(int64_t height, int64_t width) const;  // with the windows of images of this size, see Note [Huge images]

  EvalConfig eval_;
  Size crop_;  // of training
  NormalizeConfig normalize_;
  TrainConfig train_;
  bool multi_label_;
  ModelPtr model_;
  at::Device device_;
  using Shape = std::array<int64_t, 3>;
  mutable std::set<Shape> shapes_;  // of images seen
  mutable EvalLimits limits_;
  mutable std::optional<NetworkMemory> memory_;
  std::function<bool()> stop_;
  std::function<void(int64_t done, int64_t all)> watch_;
};

}  // namespace tessera
