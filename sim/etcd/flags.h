// The flags of an etcd command line.
#pragma once
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "etcd/version_facts.h"

namespace etcdop::sim {

struct Url {
  std::string host, port;
};
/// "http://HOST:PORT", or https. Invalid: anything else; etcd refuses most of that, too.
Result<Url> parse_url(const std::string&);

struct Flags {
  struct Listed {
    std::string name;
    std::vector<std::string> peer_urls;
  };
  std::string name = "default";
  std::vector<std::string> peer_urls, client_urls;  ///< As advertised.
  std::set<std::string> peer_ports;                 ///< The ports that it listens on.
  std::vector<Listed> initial_cluster;              ///< By name.
  std::string token = "etcd-cluster";
  bool existing = false;
  std::size_t max_learners = 1;
  std::uint64_t snapshot_count = 0;            ///< Entries between two raft snapshots.
  std::int64_t quota = std::int64_t{2} << 30;  ///< Bytes; negative: no quota.
  std::int64_t token_ttl = 300;                ///< Seconds.
};

/// Invalid: etcd of that version exits with these last words. A flag that this fake does not model
/// ends the test.
Result<Flags> parse_flags(const std::vector<std::string>& command, const etcd::VersionFacts&);

}  // namespace etcdop::sim
