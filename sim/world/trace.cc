#include "sim/world/trace.h"

#include <cstdio>
#include <variant>

namespace etcdop::sim {

void Trace::mix(std::string_view text) {
  for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211U;
  hash_ = (hash_ ^ 0xff) * 1099511628211U;
}

void Trace::add(std::string_view who, std::string_view what) {
  const std::int64_t when = clock_.now().time_since_epoch().count();
  hash_ = (hash_ ^ static_cast<std::uint64_t>(when)) * 1099511628211U;
  mix(who);
  mix(what);
  ++count_;
  if (who == "user") last_act_ = clock_.now();
  overhear(who, what);
  if (keep_) lines_.push_back({clock_.now(), std::string(who), std::string(what)});
}

void Trace::sample(const std::vector<Sample>& everybody) {
  auto before = std::exchange(last_, {});
  for (const Sample& one : everybody) {
    const std::pair key(one.group, one.who);
    if (!last_.emplace(key, one.is).second) continue;  // Two at once: the first counts.
    if (before[key] != one.is) states_.push_back({clock_.now(), one.group, one.who, one.is});
    before.erase(key);
  }
  for (const auto& [key, was] : before)
    states_.push_back({clock_.now(), key.first, key.second, ""});
}

std::string seconds_text(Instant when) {
  char text[32];
  const auto micro =
      std::chrono::duration_cast<std::chrono::microseconds>(when.time_since_epoch()).count();
  std::snprintf(text, sizeof text, "%5lld.%06lld", static_cast<long long>(micro / 1'000'000),
                static_cast<long long>(micro % 1'000'000));
  return text;
}

void TraceLog::write(Level level, std::string_view message,
                     std::initializer_list<LogField> fields) {
  if (level == Level::Debug && !trace_.heard()) return;
  std::string line = level == Level::Info ? "says: " : level == Level::Warn ? "warns: " : "error: ";
  line += message;
  for (const LogField& field : fields) {
    ((line += ' ') += field.key) += '=';
    const auto& value = field.value.get();
    if (const auto* words = std::get_if<std::string>(&value)) line += *words;
    else if (const auto* fact = std::get_if<bool>(&value)) line += *fact ? "true" : "false";
    else line += std::to_string(std::get<std::int64_t>(value));
  }
  if (level == Level::Debug) trace_.overhear(who_, line);
  else trace_.add(who_, line);
}

}  // namespace etcdop::sim
