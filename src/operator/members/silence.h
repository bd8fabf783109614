// The last look at a member before something is taken from it.
#pragma once
#include "etcd/client.h"
#include "operator/credentials/credentials.h"
#include "operator/pods/member_endpoint.h"

namespace etcdop {

/// The result of dials to a member's etcd. Refusal: no connection, or the Pod has no address.
/// Nothing: no answer in time, as from a lost node, or from an etcd that hangs.
enum class Heard { Answer, Nothing, Refusal };

/// Dials the etcd of the member in that Pod, which the API server gave right before: the kubelet
/// may tell of its end seconds after it runs again. One connection that is cut looks like one that
/// is refused, so it is dialled three times. An etcd that rejects us has answered. Conflict: it
/// cannot be asked, as a certificate is missing. Suspends for one call of etcd each.
Result<Heard> last_look(const api::v1alpha2::EtcdCluster&, const api::v1alpha2::EtcdMember&,
                        const kube::Pod&, etcd::Clients&, Credentials&);

}  // namespace etcdop
