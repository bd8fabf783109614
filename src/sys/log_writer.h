// Writes log lines to standard error, as JSON or as text for people. spdlog stays inside
// log_writer.cc.
#pragma once
#include <functional>
#include <memory>
#include <string_view>

#include "base/log.h"

namespace etcdop {

class LogWriter final : public Log {
 public:
  struct Options {
    bool json = true;           ///< If false: "time level message key=value ...".
    Level level = Level::Info;  ///< Lower levels are dropped.
    /// Destination of the lines; standard error if empty. For tests.
    std::function<void(std::string_view line)> sink;
  };
  explicit LogWriter(Options options);
  ~LogWriter() override;
  void write(Level level, std::string_view message,
             std::initializer_list<LogField> fields) override;

 private:
  struct Spdlog;
  Options options_;
  std::unique_ptr<Spdlog> spdlog_;
};

}  // namespace etcdop
