#include "etcd/last_words.h"

#include <algorithm>
#include <array>

namespace etcdop::etcd {
namespace {

/// An etcd with a log ignores --initial-cluster. An etcd that complains about it has no log.
constexpr std::array kHasNoLog = {
    "member count is unequal",       "PeerURLs: no match found for existing member",
    "couldn't find local name",      "could not retrieve cluster information from the given URLs",
    "has already been bootstrapped",
};
constexpr std::array kLogIsShort = {
    "Was the raft log corrupted, truncated, or lost?",
    "panic: cannot use none as id",  // The log exists, but its first entry is missing.
};
constexpr std::array kCannotBeRead = {
    "walpb: crc mismatch",
    R"("error":"proto: )",  // A malformed record.
    "invalid database",
    "failed to recover v3 backend from snapshot",
    "freepages: failed to get all reachable pages",
};

template <class Words>
bool says_any(std::string_view said, const Words& words) {
  return std::ranges::any_of(words, [&](std::string_view w) { return said.find(w) != said.npos; });
}

}  // namespace

DataVerdict verdict_of(std::string_view said, bool has_started) {
  if (says_any(said, kCannotBeRead)) return DataVerdict::Corrupt;
  if (says_any(said, kLogIsShort) || (has_started && says_any(said, kHasNoLog)))
    return DataVerdict::Lost;
  return DataVerdict::Unknown;
}

}  // namespace etcdop::etcd
