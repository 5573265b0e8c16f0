#include <fmt/format.h>

#include <array>
#include <optional>

#include "data/check/checks.h"

namespace tessera {
namespace {

std::string interpolated(const SampleFacts& facts, const Survey&) {
  const BorderLook& look = facts.mask.borders;
  if (!look.interpolated) return "";
  return fmt::format("{} of {} borders pass through values in between, {} values in all", look.ramps, look.borders,
                     look.distinct);
}

std::string jpeg_like(const SampleFacts& facts, const Survey&) {
  const BorderLook& look = facts.mask.borders;
  return look.noisy ? fmt::format("{} values, {} pixels of them single specks", look.distinct, look.specks) : "";
}

std::string mask_is_image(const SampleFacts& facts, const Survey&) {
  return facts.mask.is_image ? "the mask shows the image, pixel by pixel" : "";
}

std::string constant_image(const SampleFacts& facts, const Survey&) {
  return facts.constant ? fmt::format("every pixel is {:g}", facts.brightest) : "";
}

std::string unlabelled(const SampleFacts& facts, const Survey&) {
  return facts.has_labels && facts.labelled == 0 ? "not one pixel is labelled" : "";
}

std::string alpha_channel(const SampleFacts& facts, const Survey&) {
  return facts.transparent ? "the alpha channel is dropped, and not opaque everywhere" : "";
}

std::string shallow(const SampleFacts& facts, const Survey&) {
  return facts.shallow ? fmt::format("16-bit values that are 8-bit ones, up to {:g}", facts.brightest) : "";
}

std::string first_frame(const SampleFacts& facts, const Survey&) {
  return facts.image_file.animated || facts.mask_file.animated
             ? fmt::format("an animated {}, of which the first frame is read", facts.image_file.format)
             : "";
}

// Turned by half a turn, mirrored, or square: the sizes fit however the mask was drawn.
std::string turned_photo(const SampleFacts& facts, const Survey& survey) {
  const std::optional<SampleCoding> coding = survey.data->coding();
  const bool obeyed = coding && coding->options->exif_orientation;
  const int turned = facts.image_file.orientation;
  if (!obeyed || turned == 1 || !facts.mask.read || facts.mask_file.orientation == turned) return "";
  const bool hidden = turned < 5 || facts.size.height == facts.size.width;
  return hidden ? fmt::format("turned by EXIF orientation {}, to the size it had; the mask has no such tag", turned) : "";
}

std::string wrong_extension(const SampleFacts& facts, const Survey&) {
  const auto said = [](const char* what, const FileLook& look) {
    return look.named.empty() ? "" : fmt::format("the {} is a {}, its name says {}", what, look.format, look.named);
  };
  const std::string image = said("image", facts.image_file);
  return image.empty() ? said("mask", facts.mask_file) : image;
}

std::string cmyk(const SampleFacts& facts, const Survey&) {
  return facts.image_file.cmyk ? "four inks, converted to RGB without a colour profile" : "";
}

// The class of all labelled pixels; nothing where there are several, or none.
const std::string* only_class(const SampleFacts& facts, const Survey& survey) {
  return facts.classes.size() == 1 ? &survey.data->classes().names[static_cast<size_t>(facts.classes[0].first)] : nullptr;
}

bool is_background(const std::string& name, const Survey& survey) {
  return name == "background" && &name == &survey.data->classes().names[0];
}

std::string background_only(const SampleFacts& facts, const Survey& survey) {
  if (facts.labelled > 0 && facts.classes.empty()) return "no pixel of any class";  // of classes that overlap
  const std::string* only = only_class(facts, survey);
  return only != nullptr && is_background(*only, survey) ? "no pixel of any class but background" : "";
}

std::string constant_mask(const SampleFacts& facts, const Survey& survey) {
  const std::string* only = only_class(facts, survey);
  if (only == nullptr || is_background(*only, survey) || facts.labelled < facts.pixels()) return "";
  return survey.data->classes().multi_label ? "" : *only + " everywhere";
}

// What one sample tells by itself: "" where nothing is wrong.
struct SampleCheck {
  FindingKind kind;
  std::string (*detail)(const SampleFacts& facts, const Survey& survey);
};

constexpr std::array kSampleChecks = std::to_array<SampleCheck>({{FindingKind::kInterpolatedMask, interpolated},
                                                                 {FindingKind::kJpegLikeMask, jpeg_like},
                                                                 {FindingKind::kMaskIsImage, mask_is_image},
                                                                 {FindingKind::kConstantImage, constant_image},
                                                                 {FindingKind::kUnlabelled, unlabelled},
                                                                 {FindingKind::kAlphaChannel, alpha_channel},
                                                                 {FindingKind::kShallow16Bit, shallow},
                                                                 {FindingKind::kFirstFrame, first_frame},
                                                                 {FindingKind::kTurnedPhoto, turned_photo},
                                                                 {FindingKind::kWrongExtension, wrong_extension},
                                                                 {FindingKind::kCmykImage, cmyk},
                                                                 {FindingKind::kBackgroundOnly, background_only},
                                                                 {FindingKind::kConstantMask, constant_mask}});

}  // namespace

void check_samples(const CheckInput& input, std::vector<Finding>& findings) {
  for (const Survey& survey : input.surveys) {
    for (const SampleCheck& check : kSampleChecks) {
      find_samples(survey, check.kind, findings, [&](const SampleFacts& facts) {
        // A copy of the image has values of all kinds, which is no news.
        const bool explained = facts.mask.is_image && check.kind != FindingKind::kMaskIsImage;
        return facts.usable() && facts.decoded && !explained ? check.detail(facts, survey) : std::string();
      });
    }
  }
}

}  // namespace tessera
