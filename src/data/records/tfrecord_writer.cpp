#include "data/records/tfrecord_writer.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "core/error.h"
#include "core/tfrecord_frame.h"
#include "data/tf_example.pb.h"

namespace tessera {
namespace {

// What the wire format adds to a feature at most: five lengths of up to five bytes, six tags, and the lengths of map and
// record.
constexpr uint64_t kFeatureBytes = 48;

void put_bytes(records::Example& example, const std::string& name, const void* data, size_t size) {
  (*example.mutable_features()->mutable_feature())[name].mutable_bytes_list()->add_value(data, size);
}

}  // namespace

// To within some bytes: counting them exactly would mean to write the sample twice.
uint64_t TfRecordWriter::bytes_with(const EncodedSample& sample) const {
  return file_.size() + kTfRecordFrameBytes + 3 * kFeatureBytes + image_.size() + labels_.size() + id_.size() +
         sample.image.size() + sample.labels.size() + sample.id.size();
}

void TfRecordWriter::add(const EncodedSample& sample) {
  TSR_CHECK(sample.image.size() + sample.labels.size() < size_t{std::numeric_limits<int>::max()} / 2,
            "{} has {} bytes, too many for a record of TensorFlow, which ends at 2 GiB", sample.id,
            sample.image.size() + sample.labels.size());
  records::Example example;
  put_bytes(example, image_, sample.image.bytes.data(), sample.image.size());
  if (sample.labels.size() > 0) put_bytes(example, labels_, sample.labels.bytes.data(), sample.labels.size());
  put_bytes(example, id_, sample.id.data(), sample.id.size());
  std::string data;
  {
    // The order of a map is else any, and the same samples would not give the same file.
    google::protobuf::io::StringOutputStream stream(&data);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    example.SerializeToCodedStream(&out);
  }
  put_tfrecord(file_, data);
}

std::vector<uint8_t> TfRecordWriter::finish() {
  return {file_.begin(), file_.end()};
}

}  // namespace tessera
