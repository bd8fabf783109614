// The domain that a cluster's Services have in DNS.
#pragma once
#include <string>

namespace etcdop {

/// Out of a Pod's resolv.conf: the search domain that begins with "svc.", without that; where there
/// is none, "cluster.local".
std::string cluster_domain_of(const std::string& resolv_conf);

}  // namespace etcdop
