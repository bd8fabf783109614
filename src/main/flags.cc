#include "main/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

namespace etcdop {
namespace {

/// Turns "-leader-elect" into "--leader-elect"; leaves "-h".
void double_dashes(std::vector<std::string>& words) {
  for (std::string& word : words)
    if (word.size() > 2 && word[0] == '-' && word[1] != '-') word.insert(0, 1, '-');
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');)
    if (!part.empty()) out.push_back(part);
  return out;
}

std::optional<Level> level_of(const std::string& word) {
  if (word == "debug") return Level::Debug;
  if (word == "info") return Level::Info;
  if (word == "warn") return Level::Warn;
  if (word == "error" || word == "panic") return Level::Error;
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos)
    return word == "0" ? Level::Info : Level::Debug;  // zap: a larger number logs more.
  return std::nullopt;
}

/// The words of the command line before they are parsed.
struct Words {
  std::string pod_template_policy = "baseline", watch_namespace, log_format, log_level, zap_encoder,
              zap_log_level, ignored;
  bool zap_devel = false, help = false;
};

void declare(CLI::App& app, Flags& flags, Words& words) {
  app.set_help_flag("");
  app.add_flag("-h,--help", words.help, "Print this help.");
  app.add_flag("--version", flags.show_version, "Print the version.");
  app.add_option("--metrics-bind-address", flags.metrics_bind_address,
                 "Where metrics are served; 0: nowhere.");
  app.add_flag("--metrics-secure", flags.metrics_secure,
               "Serve metrics by TLS, and only to accounts that may get the nonResourceURL "
               "/metrics.");
  app.add_option("--metrics-cert-path", flags.metrics_cert_path,
                 "Folder with tls.crt and tls.key for --metrics-secure, read again when they "
                 "change; empty: a certificate of our own making.");
  app.add_option("--health-probe-bind-address", flags.health_probe_bind_address,
                 "Where /healthz and /readyz are served; 0: nowhere.");
  app.add_option("--flight-recorder-bind-address", flags.flight_recorder_bind_address,
                 "Where /debug/flight is served: what the last passes saw and planned, for "
                 "kubectl port-forward. A loopback address; 0: nothing is recorded.");
  app.add_flag("--leader-elect", flags.leader_elect, "Work only while holding the Lease.");
  app.add_option(
      "--cluster-domain", flags.cluster_domain,
      "DNS domain of the cluster, for names in certificates; empty: as resolv.conf says.");
  app.add_option("--operator-image", flags.operator_image,
                 "Image of this program, which takes snapshots ($OPERATOR_IMAGE).");
  app.add_option("--etcd-image-repository", flags.etcd_image_repository,
                 "Where etcd's images are ($ETCD_IMAGE_REPOSITORY).");
  app.add_option(
      "--pod-template-policy", words.pod_template_policy,
      "Which spec.podTemplate a new or edited EtcdCluster may have: restricted, baseline "
      "(default), as Pod Security has them, or any.");
  app.add_option("--watch-namespace", words.watch_namespace,
                 "Namespaces to watch, by commas; empty: all ($WATCH_NAMESPACE).");
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "Path of a kubeconfig; empty: $KUBECONFIG, or the Pod's account.");
  app.add_option("--log-format", words.log_format, "json (default) or console.");
  app.add_option("--log-level", words.log_level, "debug, info (default), warn or error.");
  app.add_flag("--zap-devel", words.zap_devel, "As --log-format=console --log-level=debug.");
  app.add_option("--zap-encoder", words.zap_encoder, "As --log-format.");
  app.add_option("--zap-log-level", words.zap_log_level, "As --log-level.");
  app.add_option("--zap-stacktrace-level", words.ignored, "Accepted; there are no stack traces.");
  app.add_option("--zap-time-encoding", words.ignored, "Accepted; time is RFC 3339.");
}

Result<Done> understand_log(const Words& words, Flags& flags) {
  if (words.zap_devel) {
    flags.log_as_json = false;
    flags.log_level = Level::Debug;
  }
  for (const std::string& format : {words.zap_encoder, words.log_format}) {
    if (format.empty()) continue;
    if (format != "json" && format != "console")
      return Error{Code::Invalid, "--log-format " + format + ": say json or console"};
    flags.log_as_json = format == "json";
  }
  for (const std::string& word : {words.zap_log_level, words.log_level}) {
    if (word.empty()) continue;
    const auto level = level_of(word);
    if (!level)
      return Error{Code::Invalid, "--log-level " + word + ": say debug, info, warn or error"};
    flags.log_level = *level;
  }
  return Done{};
}

Result<PodPolicy> understand_policy(const std::string& word) {
  for (const auto& [policy, name] : names(PodPolicy{}))
    if (word == name) return policy;
  return Error{Code::Invalid,
               "--pod-template-policy " + word + ": say restricted, baseline or any"};
}

/// ":8080", "127.0.0.1:8080", "[::1]:8080" or "0".
Result<Done> check_address(const char* flag, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool number = !port.empty() && port.size() <= 5 &&
                      port.find_first_not_of("0123456789") == std::string::npos;
  if (address == "0" || (number && std::stoi(port) <= 65535)) return Done{};
  return Error{Code::Invalid,
               std::string(flag) + " " + address + ": say HOST:PORT, :PORT, or 0 for none"};
}

/// "127.x.y.z:8082", "[::1]:8082" or "0": only clients in the Pod, or with port-forward rights,
/// reach it.
Result<Done> check_loopback(const char* flag, const std::string& address) {
  if (address == "0" || address.starts_with("127.") || address.starts_with("[::1]:"))
    return check_address(flag, address);
  return Error{Code::Invalid, std::string(flag) + " " + address +
                                  ": say 127.0.0.1:PORT or [::1]:PORT, as what is served has no "
                                  "authorization, or 0 for none"};
}

}  // namespace

Result<Flags> parse_flags(std::vector<std::string> words, const Environment& environment) {
  Flags flags;
  Words said;
  flags.operator_image = environment("OPERATOR_IMAGE").value_or("");
  if (const auto repository = environment("ETCD_IMAGE_REPOSITORY");
      repository && !repository->empty())
    flags.etcd_image_repository = *repository;
  said.watch_namespace = environment("WATCH_NAMESPACE").value_or("");

  CLI::App app("Runs etcd clusters on Kubernetes.", "manager");
  declare(app, flags, said);
  double_dashes(words);
  std::ranges::reverse(words);  // The order that CLI11 wants.
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    return Error{Code::Invalid, std::string(e.what()) + "; see manager --help"};
  }
  if (said.help) flags.help = app.help();
  flags.watch_namespaces = split(said.watch_namespace);
  if (auto log = understand_log(said, flags); !log) return log.error();
  auto policy = understand_policy(said.pod_template_policy);
  if (!policy) return policy.error();
  flags.pod_template_policy = *policy;
  if (auto ok = check_address("--metrics-bind-address", flags.metrics_bind_address); !ok)
    return ok.error();
  if (!flags.metrics_cert_path.empty() && !flags.metrics_secure)
    return Error{Code::Invalid, "--metrics-cert-path is of no use without --metrics-secure"};
  if (auto ok = check_address("--health-probe-bind-address", flags.health_probe_bind_address); !ok)
    return ok.error();
  if (auto ok =
          check_loopback("--flight-recorder-bind-address", flags.flight_recorder_bind_address);
      !ok)
    return ok.error();
  if (flags.operator_image == "controller:latest")
    return Error{Code::Invalid,
                 "--operator-image controller:latest is a placeholder: name the image that runs"};
  if (flags.etcd_image_repository.empty())
    return Error{Code::Invalid,
                 "--etcd-image-repository is empty: name a repository such as quay.io/coreos/etcd"};
  return flags;
}

}  // namespace etcdop
