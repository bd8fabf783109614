// What a database of etcd says of itself: where etcd keeps that, by name.
#pragma once
#include <cstdint>

#include "agent/bolt.h"
#include "agent/restore_site.h"

namespace etcdop::agent {

/// Corrupt: it is no database of etcd; else the errors of ReadAt.
Result<DatabaseFacts> read_facts(const BoltDatabase::ReadAt&, std::uint64_t size);

}  // namespace etcdop::agent
