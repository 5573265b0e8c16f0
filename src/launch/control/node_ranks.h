#pragma once
#include <memory>
#include <string>
#include <vector>

#include "launch/control/directive.h"
#include "launch/node/affinity.h"
#include "launch/node/poller.h"
#include "launch/node/rank_report.h"
#include "launch/node/secret_file.h"
#include "launch/options.h"

namespace tessera {

// The ranks of this host: starts them, keeps their output, knows what they do, ends them.
class NodeRanks {
 public:
  NodeRanks(const LaunchOptions& options, const LaunchLayout& layout, Poller& poller);
  void set_secret(const std::string& secret);  // which the ranks get; "": the job has none
  ~NodeRanks();

  void obey(const Directive& directive);  // what kOver says is the caller's to do
  bool notice_ends();                     // to be called often; true if a rank has ended since the last call
  std::vector<RankReport> reports();
  int generation() const { return generation_; }

 private:
  struct Rank;
  void start(const Directive& directive);
  void signal(int number);  // each signal reaches a rank once
  void kill();
  std::vector<std::string> environment(const Directive& directive, int local_rank, const std::string& status_path) const;
  RankReport report(Rank& rank) const;
  void pass_on_signal();
  void read_output(Rank& rank, bool is_error);

  const LaunchOptions& options_;
  LaunchLayout layout_;
  Poller& poller_;
  std::unique_ptr<SecretFile> secret_;
  std::vector<std::vector<Core>> shares_;
  int num_cores_ = 1;
  int generation_ = -1;
  int signalled_ = 0;
  double signal_due_s_ = 0;  // 0: nothing to pass on
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace tessera
