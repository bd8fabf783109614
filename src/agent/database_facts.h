// Facts from an etcd database, with the names of etcd's buckets and keys.
#pragma once
#include <cstdint>

#include "agent/bolt.h"
#include "agent/restore_site.h"

namespace etcdop::agent {

/// Corrupt: not an etcd database; otherwise the errors of ReadAt.
Result<DatabaseFacts> read_facts(const BoltDatabase::ReadAt&, std::uint64_t size);

}  // namespace etcdop::agent
