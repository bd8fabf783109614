// The DNS domain of a cluster's Services.
#pragma once
#include <string>

namespace etcdop {

/// Read from a Pod's resolv.conf: the search domain that begins with "svc.", without that prefix;
/// if none does, "cluster.local".
std::string cluster_domain_of(const std::string& resolv_conf);

}  // namespace etcdop
