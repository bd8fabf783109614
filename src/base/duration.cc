#include "base/duration.h"

#include <charconv>
#include <iterator>
#include <utility>

namespace etcdop {
namespace {

/// Two-letter units come first, so that "ms" is not read as "m". Go takes both letters that look
/// like a mu.
constexpr std::pair<std::string_view, double> kUnits[] = {
    {"ms", 1e-3}, {"us", 1e-6}, {"\u00B5s", 1e-6}, {"\u03BCs", 1e-6},
    {"ns", 1e-9}, {"h", 3600},  {"m", 60},         {"s", 1}};

}  // namespace

std::optional<double> to_seconds(std::string_view text) {
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

}  // namespace etcdop
