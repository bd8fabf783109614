// Structured log lines: a constant message and key/value pairs. main chooses the writer.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace etcdop {

enum class Level { Debug, Info, Warn, Error };

/// Text, a number or a boolean. A Secret (secret.h) converts to none of them.
class LogValue {
 public:
  LogValue(std::string text) : value_(std::move(text)) {}
  LogValue(std::string_view text) : value_(std::string(text)) {}
  LogValue(const char* text) : value_(std::string(text)) {}
  template <class T>
    requires std::is_integral_v<T> && (!std::is_same_v<T, bool>)
  LogValue(T number) : value_(static_cast<std::int64_t>(number)) {}
  template <class T>
    requires std::is_same_v<T, bool>
  LogValue(T fact) : value_(fact) {}
  const std::variant<std::string, std::int64_t, bool>& get() const { return value_; }

 private:
  std::variant<std::string, std::int64_t, bool> value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};

/// Never suspends and never fails. `message` is constant lower-case text; the fields hold what
/// varies. Info: something changed. Debug: waiting. Error: once, where it is handled.
class Log {
 public:
  virtual ~Log() = default;
  virtual void write(Level level, std::string_view message,
                     std::initializer_list<LogField> fields) = 0;
  void debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(Level::Debug, message, fields);
  }
  void info(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(Level::Info, message, fields);
  }
  void warn(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(Level::Warn, message, fields);
  }
  void error(std::string_view message, std::initializer_list<LogField> fields = {}) {
    write(Level::Error, message, fields);
  }
};

}  // namespace etcdop
