#include "agent/database_facts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "etcd/version_facts.h"

namespace etcdop::agent {
namespace {

// Buckets and keys: server/storage/schema/schema.go of etcd, the same since 3.5.
constexpr const char* kMeta = "meta";
constexpr const char* kKeys = "key";
constexpr std::size_t kRevisionBytes = 8;  // Big-endian; '_' and a place in the transaction follow.

constexpr std::uint64_t kRevisionMax = std::uint64_t{1} << 62;  // A larger one is damage.

std::optional<std::int64_t> revision_in(const std::optional<std::string>& text) {
  if (!text || text->size() < kRevisionBytes) return std::nullopt;
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < kRevisionBytes; ++i)
    out = out << 8 | static_cast<unsigned char>((*text)[i]);
  if (out > kRevisionMax) return std::nullopt;
  return static_cast<std::int64_t>(out);
}

/// Without a key, etcd begins with 1; if a compaction has removed the newest keys, with the
/// compacted revision. etcdutl's bump counts only from existing keys.
Result<Done> add_revisions(const BoltDatabase& database, DatabaseFacts& facts) {
  auto last = database.last_key(kKeys);
  if (!last) return last.error();
  auto compacted = database.find(kMeta, "finishedCompactRev");
  if (!compacted) return compacted.error();
  const auto newest = revision_in(*last);
  if (*last && !newest) return Error{Code::Corrupt, "the last of its keys has no revision"};
  facts.newest_key = newest.value_or(0);
  facts.revision =
      std::max({std::int64_t{1}, *facts.newest_key, revision_in(*compacted).value_or(0)});
  return Done{};
}

/// The higher of the cluster version and the storage version, which 3.5 does not write.
Result<std::string> version_of(const BoltDatabase& database) {
  std::string out;
  for (const auto& [bucket, key] :
       {std::pair{"cluster", "clusterVersion"}, std::pair{kMeta, "storageVersion"}}) {
    auto text = database.find(bucket, key);
    if (!text) return text.error();
    const auto version = etcd::parse_version(text->value_or(""));
    if (version && (out.empty() || *version > *etcd::parse_version(out))) out = **text;
  }
  return out;
}

Result<bool> has_authentication(const BoltDatabase& database) {
  auto on = database.find("auth", "authEnabled");
  if (!on) return on.error();
  return on->value_or("") == "\1";
}

}  // namespace

Result<DatabaseFacts> read_facts(const BoltDatabase::ReadAt& read_at, std::uint64_t size) {
  auto database = BoltDatabase::open(read_at, size);
  if (!database) return database.error();
  for (const char* bucket : {kMeta, kKeys}) {
    auto there = database->has(bucket);
    if (!there) return there.error();
    if (!*there) return Error{Code::Corrupt, "no database of etcd: it has no such buckets"};
  }
  auto version = version_of(*database);
  if (!version) return version.error();
  auto on = has_authentication(*database);
  if (!on) return on.error();
  DatabaseFacts facts;
  facts.etcd_version = std::move(*version);
  facts.auth_enabled = *on;
  if (auto added = add_revisions(*database, facts); !added) return added.error();
  return facts;
}

}  // namespace etcdop::agent
