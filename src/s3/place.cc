#include "s3/place.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace etcdop::s3 {
namespace {

constexpr std::size_t kBucketBytesMax = 63;

Error invalid(const char* option, const std::string& what) {
  return {Code::Invalid, std::string(option) + ": " + what};
}

bool is_label_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 253 && text.front() != '.' &&
         text.find("..") == text.npos &&
         std::ranges::all_of(text, [](char c) { return is_label_character(c) || c == '.'; });
}

bool is_ipv6(std::string_view text) {
  return text.find(':') != text.npos &&
         text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos;
}

bool is_ipv4(std::string_view text) {
  return text.find_first_not_of("0123456789.") == text.npos;  // No top-level domain is a number.
}

bool is_port(const std::string& text) {
  unsigned n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() && n > 0 && n < 65536;
}

/// Fills in tls, host and port.
Result<Place> parse(const std::string& endpoint) {
  Place place;
  std::string_view rest = endpoint;
  if (rest.starts_with("http://")) place.tls = false;
  else if (!rest.starts_with("https://"))
    return invalid("endpoint", "must begin with https:// or http://");
  rest.remove_prefix(place.tls ? 8 : 7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const bool bracketed = rest.starts_with('[');
  const std::size_t host_end = bracketed ? rest.find(']') : std::min(rest.find(':'), rest.size());
  if (host_end == rest.npos) return invalid("endpoint", "has no host");
  place.host = rest.substr(bracketed ? 1 : 0, bracketed ? host_end - 1 : host_end);
  rest.remove_prefix(host_end + (bracketed ? 1 : 0));
  place.port = place.tls ? "443" : "80";
  if (!rest.empty()) place.port = rest.substr(1);
  if (!(bracketed ? is_ipv6(place.host) : is_host(place.host)) ||
      (!rest.empty() && rest.front() != ':') || !is_port(place.port))
    return invalid("endpoint",
                   "must be scheme://host or scheme://host:port, without path and user");
  place.authority = bracketed ? "[" + place.host + "]" : place.host;
  if (place.port != (place.tls ? "443" : "80")) place.authority += ":" + place.port;
  return place;
}

}  // namespace

Result<Place> to_place(const PlaceOptions& options) {
  auto place = parse(options.endpoint);
  if (!place) return place;
  const std::string& bucket = options.bucket;
  const bool good = bucket.size() <= kBucketBytesMax && is_host(bucket) && bucket.back() != '.';
  if (!good) return invalid("bucket", "must have 1 to 63 letters, digits, dots and hyphens");
  if (!std::ranges::all_of(options.region, is_label_character) || options.region.empty())
    return invalid("region", "must be letters, digits and hyphens, like us-east-1");
  place->bucket = bucket;
  place->region = options.region;
  // A bucket cannot be prefixed to an IP address.
  if (options.path_style || is_ipv4(place->host) || is_ipv6(place->host)) {
    place->path = "/" + bucket;
    return place;
  }
  place->host = bucket + "." + place->host;
  place->authority = bucket + "." + place->authority;
  return place;
}

}  // namespace etcdop::s3
