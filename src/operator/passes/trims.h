// Cuts objects that were read to the parts that are used: users may write as many and as large ones
// as the API server takes, and the operator keeps them in memory. Pure.
#pragma once
#include <cstddef>
#include <string>

#include "api/v1alpha2/etcdcluster.h"
#include "kube/core_types.h"

namespace etcdop {

/// Bounds of an EtcdCluster's new spec: its bytes as JSON, and its values (each takes more memory
/// than its text). A thousand clusters of this size fit into the chart's memory limit.
inline constexpr std::size_t kSpecBytesMax = 40 << 10, kSpecValuesMax = 2048;
/// Limit of a new EtcdCluster as a whole, and of any other object.
inline constexpr std::size_t kObjectBytesMax = 128 << 10;

/// Keeps only the operator's own annotations.
void drop_annotations(api::ObjectMeta&);

/// Drops what is never read. Returns why the object is passed over; empty: it is not.
template <class T>
std::string trim(T& object) {
  drop_annotations(object.metadata);
  return "";
}

/// The same. A spec that is too large becomes what was adopted earlier, so the cluster's members
/// are repaired further; instead of podTemplate.spec stands a text for which the planner refuses it
/// (why_too_large). A spec that an earlier release adopted may be as large as it is.
std::string trim(api::v1alpha2::EtcdCluster&);

/// The same. The commands of other containers than the operator's are not read.
std::string trim(kube::Pod&);

/// Why the template, or the spec that it stood in, was too large to be kept; empty: it was not.
std::string why_too_large(const api::v1alpha2::PodTemplate&);

/// Why what an earlier release adopted would be too large for a new cluster; empty: it would not.
std::string why_too_large(const api::v1alpha2::ObservedSpec&);

}  // namespace etcdop
