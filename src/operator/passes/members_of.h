// The EtcdMembers that name a cluster in their spec, asked of the API server.
#pragma once
#include <string>
#include <vector>

#include "api/v1alpha2/etcdmember.h"
#include "kube/list_pages.h"

namespace etcdop {

/// Whatever their label and owner: a user may have edited these. Other clusters' are not decoded.
/// Errors as for kube::list.
template <class Api>
Result<std::vector<api::v1alpha2::EtcdMember>> members_of(const Api& api, const std::string& ns,
                                                          const std::string& cluster) {
  auto members = api.template list<api::v1alpha2::EtcdMember>(
      ns, "", [&](const Json& one) { return kube::text_at(one, "/spec/clusterName") == cluster; });
  if (!members) return Error(members.error()).during("list the EtcdMembers of " + cluster);
  return members;
}

}  // namespace etcdop
