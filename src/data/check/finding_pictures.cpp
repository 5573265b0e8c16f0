#include "data/check/finding_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/error.h"
#include "data/check/border_look.h"
#include "data/datasets/palette.h"
#include "data/decode/label_rules.h"
#include "data/draw/class_overlay.h"
#include "data/draw/overlay.h"
#include "data/transforms/resample.h"

namespace tessera {
namespace {

constexpr int kShownSide = 288;
constexpr Color kMark{255, 0, 144};

// At most kShownSide, and tiny ones in whole multiples, so that their pixels are seen.
Image as_shown(const Image& image) {
  const int longest = std::max(image.height, image.width);
  if (longest > kShownSide)
    return resize_image(image,
                        {std::max(1, image.height * kShownSide / longest), std::max(1, image.width * kShownSide / longest)});
  const int factor = kShownSide / (2 * longest);
  if (factor < 2) return image;
  Image large(image.height * factor, image.width * factor, image.channels);
  const auto channels = static_cast<size_t>(image.channels);
  for (int y = 0; y < large.height; ++y) {
    for (int x = 0; x < large.width; ++x) {
      const size_t from = static_cast<size_t>(y / factor) * static_cast<size_t>(image.width) + static_cast<size_t>(x / factor);
      const size_t to = static_cast<size_t>(y) * static_cast<size_t>(large.width) + static_cast<size_t>(x);
      std::copy_n(image.bytes().begin() + static_cast<ptrdiff_t>(from * channels), channels,
                  large.bytes().begin() + static_cast<ptrdiff_t>(to * channels));
    }
  }
  return large;
}

std::string sized(const std::string& what, Size size) {
  return fmt::format("{}, {} x {}", what, size.height, size.width);
}

void set_pixel(Image& picture, size_t at, const Color& color) {
  std::copy(color.begin(), color.end(), picture.bytes().begin() + static_cast<ptrdiff_t>(3 * at));
}

// Stored values in colours that are told apart, the one of a coloured mask's own.
Image draw_values(const RawMask& mask) {
  static const std::vector<Color> palette = default_palette(256);
  Image picture(mask.height, mask.width, 3);
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const int32_t v = mask.values[i];
    const Color color{static_cast<uint8_t>(v >> 16), static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)};
    set_pixel(picture, i, mask.rgb ? color : palette[static_cast<size_t>(v & 0xFF)]);
  }
  return picture;
}

// Values for which the rules find no class.
std::vector<bool> pixels_without_class(const RawMask& mask, const LabelConfig& rules, int classes) {
  std::map<int32_t, bool> known;
  std::vector<bool> marked(mask.values.size());
  RawMask one{1, 1, mask.rgb, {0}, mask.bits, mask.palette};
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const auto [place, is_new] = known.emplace(mask.values[i], true);
    if (is_new) {
      one.values = {mask.values[i]};
      try {
        apply_label_rules(one, rules, classes);
      } catch (const Error&) {
        place->second = false;
      }
    }
    marked[i] = !place->second;
  }
  return marked;
}

std::vector<bool> marks_of(FindingKind kind, const RawMask& mask, const SampleCoding& coding, int classes) {
  switch (kind) {
    case FindingKind::kInterpolatedMask:
    case FindingKind::kJpegLikeMask: return computed_pixels(mask);
    case FindingKind::kLabelOutOfRange:
    case FindingKind::kUnlistedColour: return pixels_without_class(mask, *coding.rules, classes);
    case FindingKind::kBinaryMask: {
      std::vector<bool> marked(mask.values.size());
      for (size_t i = 0; i < marked.size(); ++i) marked[i] = mask.values[i] != 0;
      return marked;
    }
    default: return {};
  }
}

// The picture darkened, with the marked pixels bright.
Image draw_marks(Image picture, const std::vector<bool>& marked) {
  for (uint8_t& v : picture.bytes()) v = static_cast<uint8_t>(v / 3 + 40);
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i]) set_pixel(picture, i, kMark);
  }
  return picture;
}

// The part around the middle one of the marks, for who looks at pixels.
Image close_up(const Image& picture, const std::vector<bool>& marked) {
  constexpr int kSide = 48;
  std::vector<size_t> places;
  for (size_t i = 0; i < marked.size(); ++i) {
    if (marked[i]) places.push_back(i);
  }
  const size_t centre = places[places.size() / 2], row = static_cast<size_t>(picture.width);
  const int height = std::min(kSide, picture.height), width = std::min(kSide, picture.width);
  const int top = std::clamp(static_cast<int>(centre / row) - height / 2, 0, picture.height - height);
  const int left = std::clamp(static_cast<int>(centre % row) - width / 2, 0, picture.width - width);
  Image part(height, width, 3);
  for (int y = 0; y < height; ++y) {
    const auto from = picture.bytes().begin() + 3 * (ptrdiff_t{top + y} * picture.width + left);
    std::copy_n(from, 3 * width, part.bytes().begin() + ptrdiff_t{3} * y * width);
  }
  return part;
}

class Drawer {
 public:
  explicit Drawer(std::vector<FindingPicture>& pictures) : pictures_(pictures) {}

  void sample(const Survey& survey, int64_t index, const std::string& suffix, FindingKind kind) {
    const std::optional<SampleCoding> coding = survey.data->coding();
    const std::optional<EncodedSample> stored = coding ? survey.data->encoded(index) : std::nullopt;
    if (!stored) {
      whole(survey.data->get(index), survey.data->classes(), suffix);
      return;
    }
    try {
      add("image" + suffix, to_display(decode_image(stored->image.bytes, *coding->options)));
    } catch (const Error&) {
      // Its reason is told beside the pictures.
    }
    if (stored->labels.bytes.empty()) return;
    const RawMask mask = decode_mask(stored->labels.bytes, coding->options->exif_orientation, coding->options->max_pixels);
    const Image values = draw_values(mask);
    add("mask" + suffix, values);
    const std::vector<bool> marked = marks_of(kind, mask, *coding, survey.data->classes().size());
    if (std::find(marked.begin(), marked.end(), true) == marked.end()) return;
    add("marked: what is wrong", draw_marks(values, marked));
    add("close up", close_up(values, marked));
  }

 private:
  void whole(const Sample& sample, const ClassTable& classes, const std::string& suffix) {
    const Image shown = to_display(sample.image);
    add("image" + suffix, shown);
    if (sample.labels) add("mask" + suffix, draw_classes(shown, *sample.labels, classes, 1.0F));
  }
  void add(const std::string& what, const Image& picture) {
    pictures_.push_back({sized(what, picture.size()), as_shown(picture)});
  }

  std::vector<FindingPicture>& pictures_;
};

}  // namespace

std::vector<FindingPicture> draw_finding(const CheckInput& input, const Finding& finding, const FoundSample& sample) {
  std::vector<FindingPicture> pictures;
  const auto draw = [&](Split split, int64_t index, const std::string& suffix, FindingKind kind) {
    const auto survey =
        std::find_if(input.surveys.begin(), input.surveys.end(), [&](const Survey& one) { return one.split == split; });
    if (survey == input.surveys.end() || index < 0) return;
    try {
      Drawer(pictures).sample(*survey, index, suffix, kind);
    } catch (const std::exception&) {
      return;  // what can be seen of it is drawn
    }
  };
  draw(finding.split, sample.index, "", finding.kind);
  if (sample.other >= 0) {
    const auto other = std::find_if(input.surveys.begin(), input.surveys.end(),
                                    [&](const Survey& one) { return one.split == sample.other_split; });
    if (other != input.surveys.end())
      draw(sample.other_split, sample.other,
           fmt::format(" of {} ({})", other->data->id(sample.other), name_of(sample.other_split)), FindingKind::kUnusable);
  }
  return pictures;
}

}  // namespace tessera
