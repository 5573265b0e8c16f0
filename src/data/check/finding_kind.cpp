#include "data/check/finding_kind.h"

#include <array>

namespace tessera {
namespace {

constexpr auto kUnusable = FindingLevel::kUnusable;
constexpr auto kWarning = FindingLevel::kWarning;
constexpr auto kNote = FindingLevel::kNote;
using Kind = FindingKind;

constexpr std::array kTable = std::to_array<FindingFacts>({
    {Kind::kMissingFile, "missing_file", kUnusable, true, "Files that cannot be opened",
     "Put the file back, mend the link or its permissions, or take the sample out."},
    {Kind::kMissingMask, "missing_mask", kUnusable, true, "Images without a mask",
     "Add the mask under the image's name, or take the image out."},
    {Kind::kCaseMismatch, "case_mismatch", kUnusable, true, "Names that differ in upper and lower case alone",
     "Rename one of the two: on this system they are two names."},
    {Kind::kEmptyFile, "empty_file", kUnusable, true, "Files of zero bytes", "Get them again: a copy or download was cut off."},
    {Kind::kWebPage, "web_page", kUnusable, true, "Web pages in place of images",
     "Get them again: the server answered with a page, often a login or an error."},
    {Kind::kLfsPointer, "lfs_pointer", kUnusable, true, "Git LFS pointers in place of images",
     "Run `git lfs pull` in the repository the files came from."},
    {Kind::kJsonAnswer, "json_answer", kUnusable, true, "JSON in place of images",
     "Get them again: a server answered with an error message."},
    {Kind::kForeignFormat, "foreign_format", kUnusable, true, "Files of a format that is not read",
     "Convert them to PNG, or get them again."},
    {Kind::kTruncated, "truncated", kUnusable, true, "Files that are cut off", "Get them again."},
    {Kind::kCorrupt, "corrupt", kUnusable, true, "Damaged files", "Get them again, or save them anew as PNG."},
    {Kind::kNotANumber, "not_a_number", kUnusable, true, "Images with NaN or infinite pixels",
     "Replace such values in the file: one makes the loss of a whole batch NaN."},
    {Kind::kTooLarge, "too_large", kUnusable, true, "Images larger than data.max_pixels",
     "Raise data.max_pixels if you trust the file, or cut it into tiles."},
    {Kind::kOddChannels, "odd_channels", kUnusable, true, "Images with another number of channels than data.channels",
     "Convert the odd ones, or set data.channels where all are alike."},
    {Kind::kAnimation, "animation", kUnusable, true, "Animations", "Export one frame as PNG."},
    {Kind::kSizeMismatch, "size_mismatch", kUnusable, true, "Masks of another size than their image",
     "Make the mask again from the image, or resize it with nearest neighbour."},
    {Kind::kExifRotation, "exif_rotation", kUnusable, true, "Photos turned by their EXIF tag, masks not",
     "Turn the masks, or set data.exif_orientation=false where all masks were drawn on the unturned photos."},
    {Kind::kLossyMask, "lossy_mask", kUnusable, true, "Masks saved as JPEG",
     "Make the masks again as PNG: JPEG invents values along every edge."},
    {Kind::kFractionalMask, "fractional_mask", kUnusable, true,
     "Masks with fractional or negative values, or values above 65535", "Convert them to whole numbers of 8 or 16 bits."},
    {Kind::kMaskPages, "mask_pages", kUnusable, true, "Masks of several pages or channels",
     "Save one page of class numbers, or set data.labels.multi=true where classes overlap."},
    {Kind::kColouredMask, "coloured_mask", kUnusable, true, "Coloured masks where class numbers are expected",
     "List the class colours in data.labels.colors, or save class numbers."},
    {Kind::kUnlistedColour, "unlisted_colour", kUnusable, true, "Mask colours that no class has",
     "Add the colour to data.labels.colors, or to data.labels.ignore."},
    {Kind::kLabelOutOfRange, "label_out_of_range", kUnusable, true, "Mask values that no class has",
     "Set data.labels.map, data.labels.ignore or data.classes, or mend the mask."},
    {Kind::kUnusable, "unusable", kUnusable, true, "Samples that cannot be used", "The reason says what is wrong."},

    {Kind::kInterpolatedMask, "interpolated_mask", kWarning, true, "Masks that look interpolated",
     "Make them again with nearest neighbour: values between two classes are other classes, or none."},
    {Kind::kJpegLikeMask, "jpeg_like_mask", kWarning, true, "Masks with the specks that JPEG leaves",
     "Make them again from the annotations: they were once saved as JPEG, and every edge is wrong."},
    {Kind::kBinaryMask, "binary_mask", kWarning, true, "Masks of 0 and 255 among masks of class numbers",
     "Save class numbers: 255 counts as not labelled, so the object is lost."},
    {Kind::kMaskIsImage, "mask_is_image", kWarning, true, "Masks that are a copy of the image", "Put the mask in its place."},
    {Kind::kSameMask, "same_mask", kWarning, false, "One mask for different images",
     "Find out whose mask it is: the other image has lost its own."},
    {Kind::kExactDuplicate, "exact_duplicate", kWarning, true, "Images that are there twice",
     "Keep one: the others count double, and may be labelled differently."},
    {Kind::kSplitLeak, "split_leak", kWarning, true, "Images of one split that are also in another",
     "Take them out of train: what is measured on them was learned by heart."},
    {Kind::kNearDuplicate, "near_duplicate", kNote, false, "Images that look the same",
     "Scaled or re-encoded copies, or neighbouring frames: keep one, or keep them in one split."},
    {Kind::kNearSplitLeak, "near_split_leak", kWarning, false, "Images of two splits that look the same",
     "Split by scene, not by file: copies and neighbouring frames on both sides make scores too good."},
    {Kind::kConstantImage, "constant_image", kWarning, true, "Images of one value", "Leave them out: they show nothing."},
    {Kind::kBlackImage, "black_image", kWarning, false, "Images that are nearly black beside the others",
     "Look at them: a lens cap, a failed exposure, or another range of values."},
    {Kind::kUnlabelled, "unlabelled", kWarning, true, "Masks without a labelled pixel",
     "Leave them out, or label them: they teach nothing."},
    {Kind::kAlphaChannel, "alpha_channel", kNote, false, "Images with transparent pixels",
     "Transparency is dropped, and what lies under it is learned from: fill it if that was not meant."},
    {Kind::kShallow16Bit, "shallow_16_bit", kWarning, false, "16-bit files that hold 8-bit values",
     "Save them as 8 bits, as the others are read by their own depth."},
    {Kind::kFirstFrame, "first_frame", kNote, false, "Animated images, read by their first frame",
     "Export the frame that is meant."},
    {Kind::kTurnedPhoto, "turned_photo", kNote, false, "Photos turned by their EXIF tag to the same size, masks not",
     "Look whether the masks are turned too: no size tells."},
    {Kind::kWrongExtension, "wrong_extension", kNote, false, "Files named as another format than they are",
     "Read by their bytes, so training works; other programs may refuse them: rename them."},
    {Kind::kCmykImage, "cmyk_image", kNote, false, "CMYK images", "Converted without their colour profile: save them as RGB."},
    {Kind::kGreyAmongColour, "grey_among_colour", kNote, false, "Grey images among colour ones",
     "As they should be, or from another camera: look at them."},
    {Kind::kOddSize, "odd_size", kNote, false, "Images of another size than all others",
     "As they should be, or crops, or thumbnails: look at them."},
    {Kind::kBackgroundOnly, "background_only", kNote, false, "Masks that show background only",
     "Right where nothing is to be seen; else the annotation is missing."},
    {Kind::kConstantMask, "constant_mask", kNote, false, "Masks of one class everywhere",
     "Right for a close-up; else a tool filled the mask."},

    {Kind::kDuplicateStem, "duplicate_stem", kUnusable, false, "Two files of one name",
     "Remove or rename one: guessing would train on the wrong one."},
    {Kind::kCannotOpen, "cannot_open", kUnusable, false, "A split that cannot be opened", "The reason says what is expected."},
    {Kind::kLeftOutFiles, "left_out_files", kNote, false, "Files that are left out", "Convert, rename or remove them."},
    {Kind::kMixedDepths, "mixed_depths", kWarning, false, "Images of different depths",
     "Convert all to one depth: training will refuse to mix them in a batch."},
    {Kind::kWrongOffset, "wrong_offset", kWarning, false, "Class numbers that seem to be shifted",
     "Set data.labels.offset as said (other programs call -1 reduce_zero_label)."},
    {Kind::kClassCount, "class_count", kWarning, false, "Classes that no mask of any split shows",
     "Take them out of data.classes, or find out where their masks are."},
    {Kind::kAbsentClass, "absent_class", kWarning, false, "Classes that are absent from a split",
     "Draw the splits anew, with images of every class in each."},
    {Kind::kClassImbalance, "class_imbalance", kNote, false, "Classes of very different size",
     "Weigh the classes, or measure by class: the mean over pixels hardly sees the rare ones."},
    {Kind::kUndeclaredIgnore, "undeclared_ignore", kNote, false,
     "A value that counts as not labelled though the config does not say so",
     "Say so with data.labels.ignore, or set what it means."},
});

}  // namespace

std::span<const FindingFacts> finding_table() {
  return kTable;
}

const FindingFacts& finding_facts(FindingKind kind) {
  return kTable.at(static_cast<size_t>(kind));
}

std::string_view name_of(FindingLevel level) {
  switch (level) {
    case FindingLevel::kUnusable: return "unusable";
    case FindingLevel::kWarning: return "warning";
    case FindingLevel::kNote: break;
  }
  return "note";
}

}  // namespace tessera
