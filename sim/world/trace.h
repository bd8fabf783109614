// The events of a simulated world, in order: for people, and as a hash that distinguishes runs.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fiber.h"
#include "base/log.h"

namespace etcdop::sim {

class Trace {
 public:
  struct Line {
    Instant when;
    std::string who, what;
  };
  /// An actor's state from then until its next one; empty `is`: it does not exist any more.
  struct State {
    Instant since;
    std::string group, who, is;  ///< "db-0", "db-0-x1y2z", "leader".
  };
  struct Sample {
    std::string group, who, is;
  };
  explicit Trace(const Clock& clock) : clock_(clock) {}
  void keep(bool lines) { keep_ = lines; }
  bool keeps() const { return keep_; }
  /// Called with each line, and with debug log lines, which are not in the trace.
  using Listener = std::function<void(std::string_view who, std::string_view what)>;
  void listen(Listener listener) { listener_ = std::move(listener); }
  bool heard() const { return bool(listener_); }
  void overhear(std::string_view who, std::string_view what) const {
    if (listener_) listener_(who, what);
  }
  /// All actors that exist now; an actor without a sample is gone. For the page of a run; not in
  /// the hash.
  void sample(const std::vector<Sample>& everybody);
  void add(std::string_view who, std::string_view what);
  std::uint64_t hash() const { return hash_; }
  const std::vector<Line>& lines() const { return lines_; }
  const std::vector<State>& states() const { return states_; }
  std::uint64_t count() const { return count_; }
  /// When a user acted last.
  Instant last_act() const { return last_act_; }

 private:
  void mix(std::string_view);
  const Clock& clock_;
  Listener listener_;
  std::vector<Line> lines_;
  std::vector<State> states_;
  std::map<std::pair<std::string, std::string>, std::string> last_;  // State by actor.
  std::uint64_t hash_ = 14695981039346656037U;                       // FNV-1a.
  std::uint64_t count_ = 0;
  Instant last_act_ = Instant::min();
  bool keep_ = false;
};

/// "   12.345678"
std::string seconds_text(Instant);

/// A process's log, in the trace.
class TraceLog final : public Log {
 public:
  TraceLog(Trace& trace, std::string who) : trace_(trace), who_(std::move(who)) {}
  void write(Level, std::string_view message, std::initializer_list<LogField>) override;

 private:
  Trace& trace_;
  std::string who_;
};

}  // namespace etcdop::sim
