// schedule_answers: answers questions about schedules, one per line, with tabs between words, so
// that schedule_test.py can compare the answers with its own. Times are seconds since 1970.
//   offset ZONE TIME                     EAST UNTIL
//   runs ZONE AFTER UPTO MAX CRON        TIME...
//   newest ZONE AFTER UPTO CRON          TIME or nothing
//   expired ZONE NOW LAST SECONDS DAYS WEEKS MONTHS [NAME TIME PROOF]...   NAME... (-1: not set)
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "schedule/cron.h"
#include "schedule/retention.h"
#include "schedule/time_zone.h"

namespace etcdop::schedule {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& line) {
  Words words(1);
  for (const char c : line)
    if (c == '\t') words.emplace_back();
    else words.back() += c;
  return words;
}

long long number(const std::string& word) { return std::atoll(word.c_str()); }

WallTime time_of(const std::string& word) { return {std::chrono::seconds(number(word))}; }

std::string text(WallTime time) { return std::to_string(time.since_epoch.count()); }

std::optional<int> limit(const std::string& word) {
  return number(word) < 0 ? std::nullopt : std::optional(static_cast<int>(number(word)));
}

std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : "\t") + word;
  return out;
}

std::string runs_of(const Words& words, const TimeZone& zone) {
  const bool newest = words[0] == "newest";
  auto cron = to_cron(words.back());
  if (!cron) return "error: " + cron.error().message;
  const Window window{time_of(words[2]), time_of(words[3])};
  std::vector<WallTime> found;
  if (!newest) found = runs(*cron, zone, window, std::size_t(number(words[4])));
  else if (const auto run = newest_run(*cron, zone, window)) found.push_back(*run);
  Words out;
  for (const WallTime run : found) out.push_back(text(run));
  return joined(out);
}

std::string expired_of(const Words& words, const TimeZone& zone) {
  Retention retention{.last = limit(words[3]),
                      .time = std::nullopt,
                      .days = limit(words[5]),
                      .weeks = limit(words[6]),
                      .months = limit(words[7])};
  if (number(words[4]) >= 0) retention.time = std::chrono::seconds(number(words[4]));
  std::vector<StoredSnapshot> stored;
  for (std::size_t i = 8; i + 2 < words.size(); i += 3)
    stored.push_back({words[i], time_of(words[i + 1]), static_cast<Proof>(number(words[i + 2]))});
  return joined(expired(stored, retention, zone, time_of(words[2])));
}

std::string answer(const Words& words) {
  auto zone = to_time_zone(words.at(1));
  if (!zone) return "error: " + zone.error().message;
  if (words[0] == "expired") return expired_of(words, *zone);
  if (words[0] != "offset") return runs_of(words, *zone);
  const Offset offset = zone->offset_at(time_of(words.at(2)));
  return std::to_string(offset.east.count()) + "\t" + text(offset.until);
}

}  // namespace
}  // namespace etcdop::schedule

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << etcdop::schedule::answer(etcdop::schedule::words_of(line)) << "\n";
}
