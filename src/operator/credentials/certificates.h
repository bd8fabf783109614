// Reads the certificates of clusters from their Secrets, and judges them.
#pragma once
#include <cstddef>
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

/// Remembers its results for unchanged Secrets. A decision uses them only as a part of an
/// observation.
class Certificates {
 public:
  /// Both outlive this.
  Certificates(Secrets& secrets, const WallClock& clock) : secrets_(secrets), clock_(clock) {}

  /// The certificates of a cluster; of a member's Pod; of a member's Pod, read again now. Suspend.
  TlsSeen of(const api::v1alpha2::EtcdCluster&);
  TlsSeen of(const api::v1alpha2::EtcdMember&);
  TlsSeen now_of(const api::v1alpha2::EtcdMember&);

  /// Gives each endpoint with TLS its dial options. A new certificate that is invalid is not used:
  /// a cluster goes on with the last good one. Without any, the endpoint is removed: TLS is never
  /// left out. Suspends.
  void equip(const api::v1alpha2::EtcdCluster&, Endpoints&);
  /// The dial options of the peer port; null: no TLS, or its Secret is invalid. Suspends.
  std::shared_ptr<const TlsClient::Options> peer_dial(const api::v1alpha2::EtcdCluster&);
  void forget(const api::ObjectKey& cluster) { known_.erase(cluster); }
  /// How often it has judged a Secret: with a large ca.crt, that takes most of a pass's time.
  std::size_t judgements() const { return judgements_; }

 private:
  enum class Role { Authority, Server, ServerAndClient, Client };
  struct Judged {
    Secrets::Value secret, authority;  // The Secrets that were judged.
    WallTime at, until;                // The time, and the next date of a certificate in them.
    CertificateSeen seen;
  };
  struct Known {
    /// By the name of the Secret and that of its CA, which may be the same one.
    std::map<std::tuple<std::string, std::string, Role>, Judged> judged;
    /// The dial options, and the Secrets that they come from.
    Secrets::Value server, client;
    std::shared_ptr<const TlsClient::Options> dial;
  };
  static Role role_of(ManagedSecret::Kind);
  static Role role_of_server(const TlsSecrets&);
  std::optional<CertificateSeen> look(const api::ObjectKey& cluster, const std::string& secret,
                                      Role role, const std::string& authority = "");
  static void judge(Judged&, Role role);

  Secrets& secrets_;
  const WallClock& clock_;
  std::map<api::ObjectKey, Known> known_;  // By cluster.
  std::size_t judgements_ = 0;
};

}  // namespace etcdop
