#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/coco_annotations.h"
#include "data/datasets/coco_classes.h"
#include "data/datasets/split.h"
#include "data/decode/decode.h"
#include "storage/blob.h"

namespace tessera {

// COCO instances, or the segments of its panoptic files, drawn as class masks, for COCO itself and for any file in its format.
// Images come from data.<split>.images, instances from data.<split>.masks; what is not named is found
// (data/datasets/coco_files.h). Where val names nothing and there is no file for it, it is data.val_share of train's
// images. Every image of the file is a sample, also one without objects.
class CocoDataset : public Dataset {
 public:
  CocoDataset(const DataConfig& config, Split split);

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  Sample get(int64_t index) const override;
  std::string stored_version(int64_t index) const override;
  std::string id(int64_t index) const override { return items_.at(static_cast<size_t>(index)).id; }
  const ClassTable& classes() const override { return classes_; }
  const DataOrigin& origin() const override { return origin_; }
  // Empty for a file_name that leads out of the data folder, unless data.coco.allow_outside.
  fs::path image_file(int64_t index) const override;

 private:
  // An image and its part of annotations_.
  struct Item {
    std::string id;
    CocoImage image;
    size_t begin = 0;
    size_t end = 0;
  };

  void check_against_train(const DataConfig& config, Split split) const;
  void gather(CocoFile file);
  void choose(const DataConfig& config, Split split, bool held_out);
  std::string outline_text(const CocoAnnotation& annotation) const;
  LabelMap labels_of(const Item& item) const;
  LabelMap draw(const Item& item) const;
  std::string id_text(int64_t id) const { return coco_id_text(id, id_words_); }
  LabelMap draw_segments(const Item& item, const CocoAnnotation& annotation) const;

  fs::path root_;
  fs::path images_;
  fs::path json_;
  Blob archived_json_;  // where it is in an archive, from which parts cannot be read
  CocoConfig config_;
  DecodeOptions options_;
  CocoClassMap class_map_;
  ClassTable classes_;
  std::vector<CocoAnnotation> annotations_;  // grouped by image, in the file's order within one
  std::vector<std::string> mask_files_;      // of a panoptic file
  std::vector<std::string> id_words_;        // ids that are no numbers
  std::vector<Item> items_;
  DataOrigin origin_;
};

}  // namespace tessera
