#include "base/quantity.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>

namespace etcdop {
namespace {

/// The factor of a suffix; nullopt for an unknown suffix.
std::optional<long double> factor(std::string_view suffix) {
  constexpr std::string_view kPrefixes = "KMGTPE";
  if (suffix.empty()) return 1.0L;
  if (suffix == "n") return 1e-9L;
  if (suffix == "u") return 1e-6L;
  if (suffix == "m") return 1e-3L;
  if (suffix.size() > 1 && suffix != "Ei" && (suffix[0] == 'e' || suffix[0] == 'E')) {
    const std::string_view digits = suffix.substr(suffix[1] == '+' ? 2 : 1);
    int exponent = 0;
    const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (bad != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return std::pow(10.0L, static_cast<long double>(exponent));
  }
  const bool binary = suffix.size() == 2 && suffix[1] == 'i';
  if (suffix.size() > 1 && !binary) return std::nullopt;
  const std::size_t power = suffix[0] == 'k' && !binary ? 0 : kPrefixes.find(suffix[0]);
  if (power == std::string_view::npos || suffix == "K") return std::nullopt;
  return std::pow(binary ? 1024.0L : 1000.0L, static_cast<long double>(power + 1));
}

}  // namespace

std::optional<std::int64_t> bytes_of(std::string_view quantity) {
  if (quantity.starts_with('+')) quantity.remove_prefix(1);
  const std::size_t digits = quantity.find_first_not_of("-.0123456789");
  const std::string_view number = quantity.substr(0, digits);
  long double value = 0;
  const auto [end, bad] = std::from_chars(number.data(), number.data() + number.size(), value,
                                          std::chars_format::fixed);
  if (bad != std::errc() || end != number.data() + number.size()) return std::nullopt;
  const auto by = factor(digits == std::string_view::npos ? "" : quantity.substr(digits));
  if (!by) return std::nullopt;
  const long double bytes = std::ceil(value * *by);
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (bytes >= static_cast<long double>(kMost)) return kMost;
  if (bytes <= -static_cast<long double>(kMost)) return -kMost;
  return static_cast<std::int64_t>(bytes);
}

}  // namespace etcdop
