#pragma once
#include <map>
#include <vector>

#include "launch/node/rank_report.h"

namespace tessera {

// Finds out that nothing moves any more. A rank moves when its status changes, or when it uses the processor or the disk
// outside of collectives: a long evaluation or a slow save is no hang, but a rank that spins while it waits for its peers does
// not move. Watching begins with the first status that any rank writes; programs that write none are not watched.
class HangWatch {
 public:
  explicit HangWatch(double timeout_s) : timeout_s_(timeout_s) {}

  // `now_s` grows with real time. True when no rank has moved for the whole timeout and some have not ended.
  bool hung(const std::vector<RankReport>& reports, double now_s);
  void reset() { seen_.clear(); }

 private:
  double timeout_s_;
  std::map<int, RankReport> seen_;
  double moved_s_ = 0;  // when any of them last did
};

}  // namespace tessera
