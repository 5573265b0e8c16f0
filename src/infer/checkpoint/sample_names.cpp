#include "infer/checkpoint/sample_names.h"

#include "core/error.h"
#include "core/log.h"
#include "core/name_hash.h"

namespace tessera {
namespace {

std::string hash_of(const Dataset& data) {
  uint64_t hash = name_hash("");
  for (int64_t i = 0; i < data.size(); ++i) hash = name_hash(data.id(i) + '\n', hash);
  return fmt::format("{:016x}", hash);
}

bool differ(const std::string& before, const std::string& now) {
  return !before.empty() && before != now;
}

std::string then_and_now(int64_t before, int64_t now) {
  return before == now ? fmt::format("{} as then, but not the same", now) : fmt::format("{} then, {} now", before, now);
}

}  // namespace

SampleNames::SampleNames(const Dataset& train_set, const Dataset& val_set)
    : train(train_set.size()), val(val_set.size()), train_hash(hash_of(train_set)), val_hash(hash_of(val_set)) {}

void check_same_samples(const SampleNames& before, const SampleNames& now) {
  if (differ(before.train_hash, now.train_hash)) {
    fail_usage(
        "this would not resume the run but change it: its training samples have changed ({}). Put the data back as it was, or "
        "go on with this data in a run of its own: in place of --resume, --from RUN and another run.name (or run.dir)",
        then_and_now(before.train, now.train));
  }
  if (differ(before.val_hash, now.val_hash))
    log_warn("the validation samples have changed since the run began ({}): its metrics before and after do not compare",
             then_and_now(before.val, now.val));
}

std::string other_val_samples(const SampleNames& run, const Dataset& val) {
  return differ(run.val_hash, hash_of(val)) ? then_and_now(run.val, val.size()) : "";
}

}  // namespace tessera
