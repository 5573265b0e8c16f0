#pragma once
#include <span>
#include <string_view>

namespace tessera {

// What can be wrong with a data set, each kind with a row in the table of finding_kind.cpp.
enum class FindingKind {
  // A sample that cannot be used.
  kMissingFile,
  kMissingMask,
  kCaseMismatch,
  kEmptyFile,
  kWebPage,
  kLfsPointer,
  kJsonAnswer,
  kForeignFormat,
  kTruncated,
  kCorrupt,
  kNotANumber,
  kTooLarge,
  kOddChannels,
  kAnimation,
  kSizeMismatch,
  kExifRotation,
  kLossyMask,
  kFractionalMask,
  kMaskPages,
  kColouredMask,
  kUnlistedColour,
  kLabelOutOfRange,
  kUnusable,
  // A sample that can be used and is probably not what was meant.
  kInterpolatedMask,
  kJpegLikeMask,
  kBinaryMask,
  kMaskIsImage,
  kSameMask,
  kExactDuplicate,
  kSplitLeak,
  kNearDuplicate,
  kNearSplitLeak,
  kConstantImage,
  kBlackImage,
  kUnlabelled,
  kAlphaChannel,
  kShallow16Bit,
  kFirstFrame,
  kTurnedPhoto,
  kWrongExtension,
  kCmykImage,
  kGreyAmongColour,
  kOddSize,
  kBackgroundOnly,
  kConstantMask,
  // The data set as a whole.
  kDuplicateStem,
  kCannotOpen,
  kLeftOutFiles,
  kMixedDepths,
  kWrongOffset,
  kClassCount,
  kAbsentClass,
  kClassImbalance,
  kUndeclaredIgnore,
};

enum class FindingLevel {
  kUnusable,  // the sample is left out of training, or training cannot begin
  kWarning,   // training goes on and learns something that nobody wants
  kNote,      // worth a look; often as it should be
};

struct FindingFacts {
  FindingKind kind;
  std::string_view name;  // "interpolated_mask"
  FindingLevel level;
  bool left_out;            // a manifest goes without such samples
  std::string_view title;   // "Masks that look interpolated"
  std::string_view advice;  // what to do
};

std::span<const FindingFacts> finding_table();  // in the order of the enum
const FindingFacts& finding_facts(FindingKind kind);
std::string_view name_of(FindingLevel level);

}  // namespace tessera
