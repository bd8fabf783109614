// What happened in a simulated world, in order: for people, and as a hash that tells two runs
// apart.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
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
  explicit Trace(const Clock& clock) : clock_(clock) {}
  void keep(bool lines) { keep_ = lines; }
  void add(std::string_view who, std::string_view what);
  std::uint64_t hash() const { return hash_; }
  const std::vector<Line>& lines() const { return lines_; }
  std::uint64_t count() const { return count_; }

 private:
  void mix(std::string_view);
  const Clock& clock_;
  std::vector<Line> lines_;
  std::uint64_t hash_ = 14695981039346656037U;  // FNV-1a.
  std::uint64_t count_ = 0;
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
