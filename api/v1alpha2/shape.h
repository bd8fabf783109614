// Additions that users may make to the members' Pods beyond the spec's own fields: flags of etcd, a
// template.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/v1alpha2/common.h"

namespace etcdop::api::v1alpha2 {

/// Flags of etcd, without the dashes, and their values.
using ExtraArgs = std::map<std::string, std::string>;

/// Flags that extraArgs cannot set: those of the Pod's command line and of spec.options; flags that
/// decide a member's identity, where its data is and which clients may connect; and the form of the
/// log, whose last lines report lost data.
inline constexpr auto kOwnFlags = std::to_array<std::string_view>({"name",
                                                                   "data-dir",
                                                                   "wal-dir",
                                                                   "config-file",
                                                                   "version",
                                                                   "help",
                                                                   "h",
                                                                   "snapshot-count",
                                                                   "quota-backend-bytes",
                                                                   "max-learners",
                                                                   "experimental-max-learners",
                                                                   "strict-reconfig-check",
                                                                   "force-new-cluster",
                                                                   "unsafe-no-fsync",
                                                                   "v2-deprecation",
                                                                   "enable-v2",
                                                                   "experimental-enable-v2v3",
                                                                   "cert-file",
                                                                   "key-file",
                                                                   "trusted-ca-file",
                                                                   "auto-tls",
                                                                   "self-signed-cert-validity",
                                                                   "cipher-suites",
                                                                   "auth-token",
                                                                   "logger",
                                                                   "log-outputs",
                                                                   "log-format",
                                                                   "enable-log-rotation",
                                                                   "log-rotation-config-json"});
/// All flags with these prefixes, too.
inline constexpr auto kOwnFlagPrefixes = std::to_array<std::string_view>(
    {"initial-", "listen-", "advertise-", "discovery", "proxy", "auto-compaction-", "client-",
     "peer-", "experimental-peer-", "tls-"});

/// Except for these: without them, where nothing answers PTR questions, a peer's certificate is
/// checked for ten seconds at each connection (docs/user/tls.md).
inline constexpr auto kUsersFlags = std::to_array<std::string_view>(
    {"peer-skip-client-san-verification", "experimental-peer-skip-client-san-verification"});

/// Whether extraArgs cannot set this flag.
bool is_own_flag(std::string_view name);

/// The schema's rules for extraArgs, made from the tables above.
const std::vector<Rule>& extra_args_rules();

/// The `extra` of a field extraArgs.
inline json::object extra_args() {
  json::object out = rules(extra_args_rules());
  out["maxProperties"] = 64;
  return out;
}

struct PodTemplate {
  std::optional<AdditionalMetadata> metadata;
  std::optional<Json> spec;  ///< Part of a core/v1 PodSpec.
  bool operator==(const PodTemplate&) const = default;

  template <class S = PodTemplate>
  static auto describe() {
    return object(
        "Merged into each Pod when it is created, as by kubectl patch --type=strategic: lists "
        "of named items by name, other lists as a whole. It cannot set fields that the "
        "operator sets.",
        Fields{optional("metadata", &S::metadata, "Labels and annotations of the Pods only."),
               optional("spec", &S::spec, "A part of a core/v1 PodSpec.",
                        {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}})});
  }
};

}  // namespace etcdop::api::v1alpha2
