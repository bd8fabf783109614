#include "sim/etcd/flags.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

namespace etcdop::sim {
namespace {

/// Flags without effect on anything modelled. The starter of the process reports what the TLS flags
/// mean, through EtcdNet::Options::admits.
constexpr std::string_view kWithoutEffect[] = {"data-dir",
                                               "listen-client-urls",
                                               "listen-metrics-urls",
                                               "unsafe-no-fsync",
                                               "logger",
                                               "log-level",
                                               "log-format",
                                               "bcrypt-cost",
                                               "cert-file",
                                               "key-file",
                                               "client-cert-auth",
                                               "trusted-ca-file",
                                               "peer-cert-file",
                                               "peer-key-file",
                                               "peer-client-cert-auth",
                                               "peer-trusted-ca-file",
                                               "max-request-bytes"};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// "a=URL,b=URL": etcd sorts by name, and a name may have several URLs.
std::vector<Flags::Listed> parse_list(const std::string& text) {
  std::vector<Flags::Listed> list;
  for (const std::string& part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    auto found = std::ranges::find(list, name, &Flags::Listed::name);
    if (found == list.end()) found = list.insert(found, {name, {}});
    // Without "=" its URL is empty, which etcd refuses when it has no data yet.
    found->peer_urls.push_back(equals == std::string::npos ? "" : part.substr(equals + 1));
  }
  std::ranges::sort(list, {}, &Flags::Listed::name);
  return list;
}

std::set<std::string> ports_of(const std::vector<std::string>& urls) {
  std::set<std::string> ports;
  for (const std::string& text : urls) {
    auto url = parse_url(text);
    check(bool(url), "--listen-peer-urls has URLs");
    ports.insert(url->port);
  }
  return ports;
}

template <class Number>
void parse_number(const std::string& value, Number& number) {
  const auto end = value.data() + value.size();
  check(std::from_chars(value.data(), end, number).ptr == end, "a number");
}

Result<Done> take(Flags& flags, const std::string& name, const std::string& value,
                  const etcd::VersionFacts& facts) {
  if (name == "name") {
    flags.name = value;
  } else if (name == "initial-advertise-peer-urls") {
    flags.peer_urls = split(value);
  } else if (name == "advertise-client-urls") {
    flags.client_urls = split(value);
  } else if (name == "listen-peer-urls") {
    flags.peer_ports = ports_of(split(value));
  } else if (name == "initial-cluster") {
    flags.initial_cluster = parse_list(value);
  } else if (name == "initial-cluster-token") {
    flags.token = value;
  } else if (name == "initial-cluster-state") {
    if (value != "new" && value != "existing")
      return Error{Code::Invalid, "invalid value \"" + value + "\" for flag -" + name};
    flags.existing = value == "existing";
  } else if (name == "max-learners") {
    if (!facts.max_learners_flag)
      return Error{Code::Invalid, "flag provided but not defined: -max-learners"};
    parse_number(value, flags.max_learners);
  } else if (name == "snapshot-count") {
    parse_number(value, flags.snapshot_count);
  } else if (name == "auth-token-ttl") {
    parse_number(value, flags.token_ttl);
  } else if (name == "quota-backend-bytes") {
    parse_number(value, flags.quota);
    if (flags.quota == 0) flags.quota = Flags{}.quota;
  } else if (std::ranges::find(kWithoutEffect, name) == std::end(kWithoutEffect)) {
    check(false, ("not modelled: etcd's flag --" + name).c_str());
  }
  return Done{};
}

}  // namespace

Result<Url> parse_url(const std::string& text) {
  const Error invalid{Code::Invalid, "no URL: " + text};
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    const std::string rest = text.substr(scheme.size());
    const std::size_t colon = rest.rfind(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == rest.size()) return invalid;
    if (rest.find('/') != std::string::npos) return invalid;
    return Url{.host = rest.substr(0, colon), .port = rest.substr(colon + 1)};
  }
  return invalid;
}

Result<Flags> parse_flags(const std::vector<std::string>& command,
                          const etcd::VersionFacts& facts) {
  Flags flags;
  flags.snapshot_count = static_cast<std::uint64_t>(facts.snapshot_count_default);
  flags.peer_ports = {"2380"};
  check(!command.empty() && command[0].ends_with("etcd"), "the program is etcd");
  for (std::size_t i = 1; i < command.size(); ++i) {
    check(command[i].starts_with("--"), "etcd takes flags only");
    const std::string word = command[i].substr(2);
    const std::size_t equals = word.find('=');
    const std::string value = equals == std::string::npos ? "true" : word.substr(equals + 1);
    auto taken = take(flags, word.substr(0, equals), value, facts);
    if (!taken) return taken.error();
  }
  if (flags.initial_cluster.empty()) flags.initial_cluster = {{flags.name, flags.peer_urls}};
  return flags;
}

}  // namespace etcdop::sim
