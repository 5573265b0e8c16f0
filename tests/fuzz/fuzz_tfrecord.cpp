// libFuzzer target: TFRecord files of tf.train.Example, also packed. Only an Error may come out. As no mutation keeps a
// checksum, the input is read once as a file and once as the data of a record.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "core/tfrecord_frame.h"
#include "data/records/tfrecord_format.h"
#include "data/sample.h"
#include "storage/gunzip.h"

namespace {

void read_all(const tessera::Blob& file) {
  static const tessera::TfRecordFormat format{tessera::FeatureNames{}};
  try {
    for (const tessera::RecordPlace& place : format.places(file.bytes, "fuzz")) {
      try {
        format.read(file, place, "id", "fuzz");
      } catch (const tessera::BadSample&) {
      }
    }
  } catch (const tessera::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_all({{data, size}, nullptr});
  try {
    read_all(tessera::own_bytes(tessera::gunzip({data, size}, "fuzz")));
  } catch (const tessera::Error&) {
  }
  std::string framed;
  tessera::put_tfrecord(framed, {reinterpret_cast<const char*>(data), size});
  read_all(tessera::own_bytes({framed.begin(), framed.end()}));
  return 0;
}
