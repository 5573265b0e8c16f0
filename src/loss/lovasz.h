#pragma once
#include "loss/loss_term.h"

namespace tessera {

// Which logits the Lovasz extension is taken of.
enum class LovaszForm {
  kSoftmax,     // Lovasz-Softmax over the classes
  kHinge,       // the Lovasz hinge of the one logit of two classes
  kMultiHinge,  // that of each class's logit, the mean over classes
};

// The Lovasz extension of the Jaccard loss (Berman, Triki and Blaschko, CVPR 2018) of each image for itself, and the mean over
// all images of the global batch; one without labelled pixels has 0. Where images are mixed it is the blend of the losses by
// both labels. Softmax: the mean over the classes that the image's labels have or, with absent_classes, over all.
class LovaszTerm final : public PixelMeanTerm {
 public:
  LovaszTerm(LovaszForm form, bool absent_classes) : form_(form), absent_classes_(absent_classes) {}

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  at::Tensor image_loss(const at::Tensor& scores, const at::Tensor& labels) const;

  LovaszForm form_;
  bool absent_classes_;
};

// (K, P) of the type of `errors`: the gradient of the Lovasz extension of each class's Jaccard loss by the errors of its
// pixels, 0 where a pixel is ignored. errors: (K, P); truth: (K, P) booleans; ignored: (P) booleans. Where errors are equal,
// the earlier pixel goes first.
at::Tensor lovasz_slopes(const at::Tensor& errors, const at::Tensor& truth, const at::Tensor& ignored);

}  // namespace tessera
