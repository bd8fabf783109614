#define SPDLOG_HEADER_ONLY
#define FMT_HEADER_ONLY  // Debian has no static libfmt.
#include "sys/log_writer.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json.hpp>

#include "base/utf8.h"

namespace etcdop {
namespace {

constexpr std::size_t kTextMax =
    8 * 1024;  // Limit of one message or value: an error may carry a whole document.

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::Debug: return spdlog::level::debug;
    case Level::Info: return spdlog::level::info;
    case Level::Warn: return spdlog::level::warn;
    case Level::Error: return spdlog::level::err;
  }
  return spdlog::level::info;
}

/// Bounded, and with invalid UTF-8 replaced: a line is always one JSON document.
std::string clean(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= kTextMax) return out + "...";
    const std::size_t n = utf8_sequence(text, i);
    out += n == 0 ? kNoUtf8 : text.substr(i, n);
    i += n == 0 ? 1 : n;
  }
  return out;
}

boost::json::value to_json(const LogValue& value) {
  if (const auto* text = std::get_if<std::string>(&value.get()))
    return boost::json::value(clean(*text));
  if (const auto* number = std::get_if<std::int64_t>(&value.get())) return *number;
  return *std::get_if<bool>(&value.get());
}

/// The rest of a JSON line, after the time that spdlog puts first: `"level":...}`.
std::string json_rest(const char* level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  boost::json::object line{{"level", level}, {"msg", clean(message)}};
  for (const LogField& field : fields) line[field.key] = to_json(field.value);
  return boost::json::serialize(line).substr(1);
}

std::string console_rest(std::string_view message, std::initializer_list<LogField> fields) {
  std::string out = clean(message);
  for (const LogField& field : fields)
    out += "  " + std::string(field.key) + "=" + boost::json::serialize(to_json(field.value));
  return out;
}

const char* word(Level level) {
  switch (level) {
    case Level::Debug: return "debug";
    case Level::Info: return "info";
    case Level::Warn: return "warn";
    case Level::Error: return "error";
  }
  return "info";
}

class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(std::function<void(std::string_view)> to) : to_(std::move(to)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    to_(std::string_view(text.data(), text.size()));
  }
  void flush_() override {}
  std::function<void(std::string_view)> to_;
};

}  // namespace

struct LogWriter::Spdlog {
  explicit Spdlog(spdlog::sink_ptr sink) : logger("manager", std::move(sink)) {}
  spdlog::logger logger;
};

LogWriter::LogWriter(Options options) : options_(std::move(options)) {
  spdlog::sink_ptr sink;
  if (options_.sink) sink = std::make_shared<FunctionSink>(options_.sink);
  else sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  spdlog_ = std::make_unique<Spdlog>(std::move(sink));
  spdlog_->logger.set_level(to_spdlog(options_.level));
  spdlog_->logger.set_formatter(std::make_unique<spdlog::pattern_formatter>(
      options_.json ? R"({"ts":"%Y-%m-%dT%H:%M:%S.%eZ",%v)" : "%Y-%m-%dT%H:%M:%S.%eZ %-5l %v",
      spdlog::pattern_time_type::utc));
}

LogWriter::~LogWriter() = default;

void LogWriter::write(Level level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  const auto at = to_spdlog(level);
  if (!spdlog_->logger.should_log(at)) return;
  spdlog_->logger.log(at,
                      spdlog::string_view_t(options_.json ? json_rest(word(level), message, fields)
                                                          : console_rest(message, fields)));
}

}  // namespace etcdop
