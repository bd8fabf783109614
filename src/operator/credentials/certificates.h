// The certificates of clusters, read out of their Secrets and judged.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "base/wall_time.h"
#include "operator/credentials/secrets.h"
#include "operator/credentials/tls.h"
#include "operator/pods/member_endpoint.h"
#include "sys/x509.h"

namespace etcdop {

/// Remembers what it made of Secrets that are still the same. No decision depends on that but by
/// what an observation has of it.
class Certificates {
 public:
  /// Both outlive this.
  Certificates(Secrets& secrets, const WallClock& clock) : secrets_(secrets), clock_(clock) {}

  /// All of a cluster; those of a member's Pod; the same, as they are at this moment. Suspend.
  TlsSeen of(const api::v1alpha2::EtcdCluster&);
  TlsSeen of(const api::v1alpha2::EtcdMember&);
  TlsSeen now_of(const api::v1alpha2::EtcdMember&);

  /// Gives each endpoint that asks for TLS what it is made with. What is new and of no use is not
  /// taken: a cluster goes on with what it had. Where there is nothing, the endpoint goes: TLS is
  /// never left out. Suspends.
  void equip(const api::v1alpha2::EtcdCluster&, Endpoints&);
  /// What the peer port is dialled with; null: it has no TLS, or its Secret is of no use. Suspends.
  std::shared_ptr<const TlsClient::Options> peer_dial(const api::v1alpha2::EtcdCluster&);
  void forget(const api::ObjectKey& cluster) { known_.erase(cluster); }

 private:
  enum class Role { Authority, Server, ServerAndClient, Client };
  struct Judged {
    Secrets::Value secret, authority;  // Of what it was made.
    WallTime at;
    CertificateSeen seen;
  };
  struct Known {
    /// By the Secret's name and that of its authority's, which may be the same one.
    std::map<std::tuple<std::string, std::string, Role>, Judged> judged;
    /// What it is dialled with, and of what that was made.
    Secrets::Value server, client;
    std::shared_ptr<const TlsClient::Options> dial;
  };
  static Role role_of(ManagedSecret::Kind);
  std::optional<CertificateSeen> look(const api::ObjectKey& cluster, const std::string& secret,
                                      Role role, const std::string& authority = "");
  CertificateSeen judge(const Judged&, Role role) const;

  Secrets& secrets_;
  const WallClock& clock_;
  std::map<api::ObjectKey, Known> known_;  // By cluster.
};

}  // namespace etcdop
