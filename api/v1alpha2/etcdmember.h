// EtcdMember, owned by the operator: the single source of its CRD and its JSON codec.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/crd.h"
#include "api/meta.h"
#include "api/v1alpha2/common.h"
#include "api/v1alpha2/member_template.h"
#include "api/v1alpha2/names.h"

namespace etcdop::api::v1alpha2 {

struct MemberTls {
  std::optional<LocalObjectReference> client_server_secret_ref, peer_secret_ref;
  bool client_mtls = false, peer_auto_tls = false;
  bool operator==(const MemberTls&) const = default;

  template <class S = MemberTls>
  static auto describe() {
    return object("TLS of the member's ports, with the names of Secrets resolved.",
                  Fields{optional("clientServerSecretRef", &S::client_server_secret_ref,
                                  "Secret of the client port's server certificate."),
                         sparse("clientMTLS", &S::client_mtls,
                                "Whether etcd asks clients for a certificate."),
                         optional("peerSecretRef", &S::peer_secret_ref,
                                  "Secret of the peer port's certificate."),
                         sparse("peerAutoTLS", &S::peer_auto_tls,
                                "Whether etcd makes its own peer certificate (--peer-auto-tls).")});
  }
};

struct EtcdMemberSpec : MemberTemplate {
  std::string cluster_name;
  std::string initial_cluster;  ///< Empty: unknown yet, so no Pod is created.
  std::string cluster_token;
  bool bootstrap = false;  ///< The seed: it founds the cluster.
  bool dormant = false;    ///< Its cluster is paused: no Pod.
  std::int32_t replicas = 1;
  std::optional<MemberTls> tls;
  std::optional<RestoreSpec> restore;
  bool operator==(const EtcdMemberSpec&) const = default;

  template <class S = EtcdMemberSpec>
  static auto describe() {
    return object(
        "One member of an etcd cluster. The operator writes it; edit the EtcdCluster instead.",
        fields(TemplateOf::Member),
        Fields{required("clusterName", &S::cluster_name, "Name of the EtcdCluster.",
                        {{"minLength", 1}}),
               required("initialCluster", &S::initial_cluster,
                        "etcd's --initial-cluster. Empty until the member was added to etcd."),
               required("clusterToken", &S::cluster_token, "etcd's --initial-cluster-token."),
               sparse("bootstrap", &S::bootstrap, "Whether this member founds the cluster."),
               sparse("dormant", &S::dormant, "Whether the member is dormant: data, but no Pod."),
               defaulted("replicas", &S::replicas, "Always 1: the scale subresource needs it.",
                         {{"minimum", 1}, {"maximum", 1}}),
               optional("tls", &S::tls, ""), optional("restore", &S::restore, "")});
  }
};

struct EtcdMemberStatus {
  std::string member_id;  ///< 16 hex digits; empty until etcd reports it.
  std::string pod_name, pod_uid;
  bool is_voter = false;
  std::int32_t replicas = 0;
  std::string selector, pvc_name;
  std::string version;  ///< The version that etcd reports.
  /// "<Pod UID>/<restarts>": at least this run of its container had joined. Empty: unknown.
  std::string joined_in;
  bool removed = false;    ///< For good: etcd gives no id twice.
  bool elsewhere = false;  ///< It answers as a member of another etcd cluster.
  std::vector<Condition> conditions;
  bool operator==(const EtcdMemberStatus&) const = default;

  template <class S = EtcdMemberStatus>
  static auto describe() {
    return object(
        "The last observed state of the member.",
        Fields{sparse("memberID", &S::member_id, "etcd's id of the member, in hex."),
               sparse("podName", &S::pod_name, "Name of its Pod."),
               sparse("podUID", &S::pod_uid, "UID of its Pod."),
               sparse("isVoter", &S::is_voter, "Whether it votes; if not, it is a learner."),
               sparse("replicas", &S::replicas, "For the scale subresource."),
               sparse("selector", &S::selector, "Label selector of its Pod."),
               sparse("pvcName", &S::pvc_name, "Name of its PersistentVolumeClaim."),
               sparse("version", &S::version, "Version of etcd that it runs."),
               sparse("joinedIn", &S::joined_in,
                      "UID of the Pod, and restarts of its container, when etcd first listed it."),
               sparse("removed", &S::removed,
                      "Whether etcd's list, read with a quorum, no longer has the deleted member."),
               sparse("elsewhere", &S::elsewhere,
                      "Whether it answers as a member of another etcd cluster."),
               sparse("conditions", &S::conditions, "")});
  }
};

struct EtcdMember {
  static constexpr Resource resource{kGroup, kVersion, "etcdmembers", "EtcdMember"};
  static constexpr Scale scale{".spec.replicas", ".status.replicas", ".status.selector"};
  static constexpr std::array columns{
      Column{"Cluster", "string", ".spec.clusterName"},
      Column{"Version", "string", ".spec.version"},
      Column{"Running", "string", ".status.version"},
      Column{"Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"},
      Column{"Age", "date", ".metadata.creationTimestamp"},
  };

  ObjectMeta metadata;
  EtcdMemberSpec spec;
  EtcdMemberStatus status;
  bool operator==(const EtcdMember&) const = default;

  template <class S = EtcdMember>
  static auto describe() {
    return object("One member of an etcd cluster, created and deleted by the operator.",
                  Fields{sparse("metadata", &S::metadata, ""), sparse("spec", &S::spec, ""),
                         sparse("status", &S::status, "")});
  }
};

}  // namespace etcdop::api::v1alpha2

namespace etcdop::api {
extern template struct Codec<v1alpha2::EtcdMember>;
}  // namespace etcdop::api
