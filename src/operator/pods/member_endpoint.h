// Where a member's etcd answers, and who must answer there; where its data lies. Pure.
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

/// The headless Service of a member's URLs: its cluster's, or what the annotation
/// headless-service-name says of one that was adopted. One that cannot name a Service says nothing.
std::string service_of(const api::v1alpha2::EtcdMember& member);

/// "<member>.<service>.<namespace>.svc": the name in a member's URLs and certificates.
std::string member_host(const api::v1alpha2::EtcdMember& member);

/// Whether its client port, and its peer port, speak TLS.
bool client_tls(const api::v1alpha2::EtcdMember& member);
bool peer_tls(const api::v1alpha2::EtcdMember& member);

/// As its etcd tells it to clients.
std::string client_url_of(const api::v1alpha2::EtcdMember& member);
/// As it was, or is to be, added to etcd.
std::string peer_url_of(const api::v1alpha2::EtcdMember& member);

/// The folder of its data: its volume's root, or below that what the annotation data-dir-subpath
/// says of one that was adopted. A path that leaves the volume says nothing.
std::string data_dir_of(const api::v1alpha2::EtcdMember& member);

/// Where the members of a pass answer, by name.
using Endpoints = std::map<std::string, etcd::Endpoint>;
inline constexpr std::size_t kMembersAskedMax = 64;  ///< More than etcd can sensibly have.

/// Where a member's Pod answers, without what it asks for (Credentials::equip); nullopt if it has
/// no address, or is not that member's Pod.
std::optional<etcd::Endpoint> endpoint_of(const api::v1alpha2::EtcdCluster& cluster,
                                          const api::v1alpha2::EtcdMember& member,
                                          const kube::Pod& pod);

}  // namespace etcdop
