// The credentials for the clusters: one object for all controllers, so that each Secret is read
// once and each password is used once.
#pragma once
#include "operator/credentials/certificates.h"
#include "operator/credentials/secrets.h"
#include "operator/credentials/sessions.h"

namespace etcdop {

struct Credentials {
  /// All of them outlive this.
  Credentials(Executor& executor, kube::Granted<kSecretPermissions> api, const WallClock& clock,
              etcd::Clients& etcd)
      : secrets(executor, api), certificates(secrets, clock), sessions(executor, secrets, etcd) {}

  void forget(const api::ObjectKey& cluster) {
    certificates.forget(cluster);
    sessions.forget(cluster);
  }

  Secrets secrets;
  Certificates certificates;
  Sessions sessions;
};

}  // namespace etcdop
