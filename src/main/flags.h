// The manager's command line and environment, as the reference has them and a little more.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"

namespace etcdop {

struct Flags {
  std::string metrics_bind_address = ":8080";  ///< "0": none.
  /// Metrics by TLS, and only for whom the API server lets have them.
  bool metrics_secure = false;
  /// A folder with tls.crt and tls.key for that; empty: a certificate of our own making.
  std::string metrics_cert_path;
  std::string health_probe_bind_address = ":8081";  ///< "0": none.
  /// Of a loopback interface, as what is served has no authorization; "0": none, and nothing is
  /// recorded.
  std::string flight_recorder_bind_address = "127.0.0.1:8082";
  bool leader_elect = false;
  std::string cluster_domain;  ///< Of certificates' names; empty: as resolv.conf says.
  std::string operator_image;
  std::string etcd_image_repository = "quay.io/coreos/etcd";
  std::vector<std::string> watch_namespaces;  ///< Empty: all.
  std::string kubeconfig;  ///< Empty: KUBECONFIG, or else the Pod's service account.
  bool log_as_json = true;
  Level log_level = Level::Info;
  bool show_version = false;
  std::optional<std::string> help;  ///< Asked for: to be printed.
};

/// What an environment variable says; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the words after the program's name. One dash does for two, as Go's flags have it. Invalid:
/// names the flag and what to do.
Result<Flags> parse_flags(std::vector<std::string> words, const Environment& environment);

}  // namespace etcdop
