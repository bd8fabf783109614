// The certificates that members really show, each from its own handshake.
#pragma once
#include <map>
#include <string>

#include "etcd/dial.h"
#include "operator/cluster/observation.h"
#include "operator/credentials/certificates.h"

namespace etcdop::cluster {

/// A member that has shown the Secret's certificate is asked again only when the Secret or the
/// member's address changes. Decisions see this memory only through an observation.
class ServedCertificates {
 public:
  /// The executor outlives this.
  ServedCertificates(Executor& executor, etcd::Handshake handshake)
      : executor_(executor), handshake_(std::move(handshake)) {}
  /// Fills `shown` of the seats. A member that has not answered in this pass is not asked. Suspends
  /// for some seconds at most.
  void look(Observation& seen, const Endpoints& endpoints, Certificates& certificates);
  void forget(const api::ObjectKey& cluster) { known_.erase(cluster); }

 private:
  struct Known {
    std::string address;
    Seat::Shown shown = {};
    Instant again = Instant::min();
    Duration pause{};
    std::optional<Instant> behind_since = std::nullopt;
  };
  using PeerDial = std::shared_ptr<const TlsClient::Options>;
  void ask(const TlsSeen&, etcd::Endpoint where, const PeerDial&, Seat::Shown&) const;
  void note(Known&, const TlsSeen&) const;

  Executor& executor_;
  const etcd::Handshake handshake_;
  std::map<api::ObjectKey, std::map<std::string, Known>> known_;  // By EtcdMember's UID.
};

}  // namespace etcdop::cluster
