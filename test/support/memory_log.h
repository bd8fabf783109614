// Keeps the log, one text per line: "error reconcile failed name=db error=...".
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/log.h"

namespace etcdop::testing {

class MemoryLog final : public Log {
 public:
  void write(Level level, std::string_view message,
             std::initializer_list<LogField> fields) override {
    std::string line = names[static_cast<std::size_t>(level)];
    (line += ' ') += message;
    for (const LogField& field : fields) (((line += ' ') += field.key) += '=') += text(field.value);
    lines_.push_back(std::move(line));
  }
  const std::vector<std::string>& lines() const { return lines_; }
  /// How many lines contain `part`.
  std::ptrdiff_t count(std::string_view part) const {
    return std::ranges::count_if(
        lines_, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

 private:
  static constexpr const char* names[] = {"debug", "info", "warn", "error"};
  static std::string text(const LogValue& value) {
    if (const auto* words = std::get_if<std::string>(&value.get())) return *words;
    if (const auto* fact = std::get_if<bool>(&value.get())) return *fact ? "true" : "false";
    return std::to_string(std::get<std::int64_t>(value.get()));
  }
  std::vector<std::string> lines_;
};

}  // namespace etcdop::testing
