// The manager's command line and environment: those of the Go operator, and a few more.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "operator/pods/pod_policy.h"

namespace etcdop {

struct Flags {
  std::string metrics_bind_address = ":8080";  ///< "0": not served.
  /// Serves metrics with TLS, and only to users that the API server authorizes.
  bool metrics_secure = false;
  /// A folder with tls.crt and tls.key for that; empty: a self-signed certificate.
  std::string metrics_cert_path;
  std::string health_probe_bind_address = ":8081";  ///< "0": not served.
  /// On a loopback interface, because it is served without authorization; "0": not served, and
  /// nothing is recorded.
  std::string flight_recorder_bind_address = "127.0.0.1:8082";
  bool leader_elect = false;
  std::string cluster_domain;  ///< Used in certificates' names; empty: read from resolv.conf.
  std::string operator_image;
  std::string etcd_image_repository = "quay.io/coreos/etcd";
  PodPolicy pod_template_policy = PodPolicy::Baseline;
  std::vector<std::string> watch_namespaces;  ///< Empty: all namespaces.
  std::string kubeconfig;  ///< Empty: KUBECONFIG, or else the Pod's service account.
  bool log_as_json = true;
  Level log_level = Level::Info;
  bool show_version = false;
  std::optional<std::string> help;  ///< Set if help was requested: the text to print.
};

/// The value of an environment variable; nullopt if it is not set.
using Environment = std::function<std::optional<std::string>(const std::string&)>;

/// Parses the words after the program's name. A single dash works like two, as in Go's flags.
/// Invalid: names the flag and what to do.
Result<Flags> parse_flags(std::vector<std::string> words, const Environment& environment);

}  // namespace etcdop
