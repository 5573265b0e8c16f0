#include "data/check/fault_kind.h"

#include <array>

namespace tessera {
namespace {

struct Words {
  std::string_view words;
  FindingKind kind;
};

// The first whose words are in the reason.
constexpr std::array kReasons = std::to_array<Words>({
    {"no mask for the image", FindingKind::kMissingMask},
    {"no mask of '", FindingKind::kMissingMask},
    {"the file is empty (0 bytes)", FindingKind::kEmptyFile},
    {"is it a web page?", FindingKind::kWebPage},
    {"Git LFS pointer", FindingKind::kLfsPointer},
    {"a JSON answer of a server", FindingKind::kJsonAnswer},
    {"not an image: ", FindingKind::kForeignFormat},
    {"is an animation", FindingKind::kAnimation},
    {"is not a number: channel", FindingKind::kNotANumber},
    {"more than data.max_pixels", FindingKind::kTooLarge},
    {"the 2^30 limit", FindingKind::kTooLarge},
    {"bytes, expected", FindingKind::kTooLarge},
    {"is lossy, labels would be wrong", FindingKind::kLossyMask},
    {"fractional values", FindingKind::kFractionalMask},
    {"expected whole numbers of 0 to 65535", FindingKind::kFractionalMask},
    {"channels without a meaning as labels", FindingKind::kMaskPages},
    {"the mask is coloured", FindingKind::kColouredMask},
    {"in data.labels.colors; add it", FindingKind::kUnlistedColour},
    {"is not in data.labels.map", FindingKind::kLabelOutOfRange},
    {" classes); set data.labels.map", FindingKind::kLabelOutOfRange},
    {" classes) after offset", FindingKind::kLabelOutOfRange},
    {"they must be of one size", FindingKind::kSizeMismatch},
    {"channels (data.channels), the file gives", FindingKind::kOddChannels},
    {"set data.channels to", FindingKind::kOddChannels},
    {" is truncated", FindingKind::kTruncated},
    {" get it again", FindingKind::kCorrupt},
    {"the file is damaged", FindingKind::kCorrupt},
    {"JPEG cannot be decoded", FindingKind::kCorrupt},
    {"cannot read ", FindingKind::kMissingFile},
});

}  // namespace

FindingKind fault_kind(std::string_view reason) {
  for (const Words& known : kReasons) {
    if (reason.find(known.words) != std::string_view::npos) return known.kind;
  }
  return FindingKind::kUnusable;
}

}  // namespace tessera
