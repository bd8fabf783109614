#include "operator/cluster/away.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/v1alpha2/names.h"

namespace etcdop::cluster {
namespace {

namespace v1 = api::v1alpha2;

constexpr std::int64_t kLeast = 60;  // A restart of a node takes that long.
constexpr double kMost = 1e9;        // Some thirty years.
constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},
                                                          {"h", 3600},  {"m", 60},    {"s", 1}};

/// "1h30m", as Go's time.ParseDuration reads it, without a sign. In seconds.
std::optional<double> parse_duration(std::string_view text) {
  double out = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double number = 0;
    if (text[0] < '0' || text[0] > '9') return std::nullopt;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const auto* unit = std::begin(kUnits);
    while (unit != std::end(kUnits) && !text.starts_with(unit->first)) ++unit;
    if (unit == std::end(kUnits)) return std::nullopt;
    text.remove_prefix(unit->first.size());
    out += number * unit->second;
  }
  return out;
}

}  // namespace

AwayPolicy away_policy(const v1::EtcdCluster& cluster) {
  const auto& all = cluster.metadata.annotations;
  const auto found = all.find(v1::kReplaceUnreachableAnnotation);
  if (found == all.end()) return {};
  const auto seconds = parse_duration(found->second);
  if (seconds && *seconds >= kLeast && *seconds <= kMost)
    return {static_cast<std::int64_t>(*seconds), ""};
  return {0, std::string("the annotation ") + v1::kReplaceUnreachableAnnotation +
                 " is not a duration of 1m or more, such as 15m: nobody is replaced for it"};
}

}  // namespace etcdop::cluster
