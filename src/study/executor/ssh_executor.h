#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/cluster/hosts.h"
#include "study/executor/executor.h"
#include "study/executor/ssh_options.h"

namespace tessera {

// Note [Jobs of other hosts]
// A job is a script in a session of its own on its host, which neither the controller's nor the connection's end reaches. Its
// folder lies where all hosts see it:
//   no script                   never started
//   `place`                     which slots of which hosts it was given, before it was handed over
//   `started/by`                host, session and boot of who runs it: Note [A job starts once]
//   exit code                   it has ended
// Without an exit code the host is asked which sessions live, once for all its jobs. A host that does not answer may be busy
// or cut off while its jobs go on, so they count as running until lost_after_s have gone.

// Jobs on hosts over ssh. A job with more ranks than a host has slots runs on several, by `tessera launch --hosts` on the
// first.
class SshExecutor final : public Executor {
 public:
  // `program`: what runs the jobs' arguments; this program itself where it is empty. Throws UsageError without hosts.
  explicit SshExecutor(SshOptions options, std::vector<std::string> program = {});

  // A host that cannot be reached is left out for a while; throws Error where no host with free slots can, or where one does
  // not see the job's folder or the program.
  void start(const Job& job) override;
  JobStatus poll(const Job& job) override;
  void stop(const Job& job) override;
  std::optional<int> most_at_once(const Job& job) const override;
  bool has_room(const Job& job) const override;

 private:
  struct Slots {
    size_t host = 0;
    std::vector<int> numbers;
  };
  using Place = std::vector<Slots>;  // empty: none

  // What a host said last.
  struct Answer {
    double asked = -1, answered = -1;
    std::string boot;
    std::set<std::string> sessions;  // that live
    double down_until = 0;           // it could not be reached: no new jobs before
    double warned = -1;              // of its silence
  };

  Place free_place(const Job& job) const;
  Place read_place(const Job& job) const;
  std::string place_text(const Place& place) const;
  std::string script(const Job& job, const Place& place) const;
  bool start_at(const Job& job, const Place& place);
  void check_host(size_t host, const Job& job);
  void look(size_t host);
  JobStatus status_from_host(const Job& job, const std::string& by);
  std::optional<size_t> host_named(const std::string& name) const;
  std::vector<std::string> on_host(size_t host, const std::string& command) const;

  SshOptions options_;
  std::vector<std::string> program_;
  std::vector<Host> hosts_;
  std::vector<Answer> answers_;        // by host
  std::set<size_t> checked_;           // hosts that see the folder and the program
  std::map<std::string, Place> used_;  // by name of a job that runs
  std::map<std::string, double> handed_over_, gone_;
};

}  // namespace tessera
