// A member's addresses, the identity that must answer there, and its data directory. Pure.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcdmember.h"
#include "etcd/client.h"
#include "kube/core_types.h"

namespace etcdop {

/// Where the data volume is mounted in an etcd container.
inline constexpr const char* kVolumeRoot = "/var/lib/etcd";

/// The headless Service in a member's URLs: its cluster's, or for an adopted member its annotation
/// headless-service-name. A value that cannot name a Service is ignored.
std::string service_of(const api::v1alpha2::EtcdMember& member);

/// "<member>.<service>.<namespace>.svc": the name in a member's URLs and certificates.
std::string member_host(const api::v1alpha2::EtcdMember& member);

/// Whether its client port, and its peer port, use TLS.
bool client_tls(const api::v1alpha2::EtcdMember& member);
bool peer_tls(const api::v1alpha2::EtcdMember& member);

/// The URL that its etcd advertises to clients.
std::string client_url_of(const api::v1alpha2::EtcdMember& member);
/// The URL with which it was, or will be, added to etcd.
std::string peer_url_of(const api::v1alpha2::EtcdMember& member);

/// Its data folder: the root of its volume, or for an adopted member the folder in its annotation
/// data-dir-subpath. A path that leaves the volume is ignored.
std::string data_dir_of(const api::v1alpha2::EtcdMember& member);

/// The endpoints of the members in a pass, by name.
using Endpoints = std::map<std::string, etcd::Endpoint>;
inline constexpr std::size_t kMembersAskedMax = 64;  ///< More than etcd can sensibly have.

/// The endpoint of a member's Pod, without credentials (Certificates::equip, Sessions::equip);
/// nullopt: it has no address, or is not that member's Pod.
std::optional<etcd::Endpoint> endpoint_of(const api::v1alpha2::EtcdCluster& cluster,
                                          const api::v1alpha2::EtcdMember& member,
                                          const kube::Pod& pod);

}  // namespace etcdop
