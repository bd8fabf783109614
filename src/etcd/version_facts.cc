#include "etcd/version_facts.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <utility>

namespace etcdop::etcd {
namespace {

constexpr int kNever = INT_MAX;
constexpr int kAlways = 0;

/// One minor version: the patch from which on a fact holds. The contract test proves each cell on
/// the versions it runs (3.5.35, 3.6.15, 3.6.16, 3.7.3); for a boundary between patches, the change
/// that made it is named (PR numbers of etcd-io/etcd).
struct Minor {
  int minor;
  int max_learners_flag;       // PR 13377, on by default name from 3.6.0.
  int livez_and_readyz;        // PR 17039, in 3.5.11.
  int readyz_learner_check;    // CHANGELOG-3.5, 3.5.19.
  int add_wants_quorum_only;   // PR 21667, in 3.5.30 and 3.6.11; before: isConnectedFullySince.
  int follower_promotes_auth;  // PR 21494 in 3.5.28, PR 20874 in 3.6.6.
  int lists_for_root;          // CVE-2026-33413, -33343: 3.5.28 and 3.6.9 restricted the list…
  int lists_for_any_user;  // …then every user may list again: seen in 3.6.10; 3.5.29 by analogy.
  Answers auth_status;
  int experimental_flags_end;
  int feature_gates;
  int raises_revisions;  // PR 16165, in 3.5.10.
  int next_minor;   // etcd-io/website PR 1095: 3.5.26 is the first to sync the stores completely.
  int recommended;  // PR 20387, in 3.6.4.
  std::int64_t snapshot_count;  // DefaultSnapshotCount in etcdserver/server.go.
};

constexpr Minor kMinors[] = {
    {5, kNever, 11, 19, 30, 28, 28, 29, Answers::Root, kNever, kNever, 10, 26, kAlways, 100'000},
    {6, kAlways, kAlways, kAlways, 11, 6, 9, 10, Answers::Root, kNever, kAlways, kAlways, kAlways,
     4, 10'000},
    {7, kAlways, kAlways, kAlways, kAlways, kAlways, kAlways, kAlways, Answers::Anybody, kAlways,
     kAlways, kAlways, kAlways, kAlways, 10'000},
};

Answers list_answers(const Minor& row, int patch) {
  if (patch >= row.lists_for_any_user) return Answers::AnyUser;
  return patch >= row.lists_for_root ? Answers::Root : Answers::Anybody;
}

/// The row for the version or the nearest one, and the patch to read it with.
std::pair<const Minor*, int> nearest(Version version) {
  const std::pair here{version.major, version.minor};
  if (here < std::pair{3, kMinors[0].minor}) return {std::begin(kMinors), 0};
  if (here > std::pair{3, std::prev(std::end(kMinors))->minor})
    return {std::prev(std::end(kMinors)), kNever - 1};
  return {std::ranges::find(kMinors, version.minor, &Minor::minor), version.patch};
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  for (int* part : {&version.major, &version.minor, &version.patch}) {
    if (part != &version.major) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > 4 || (digits > 1 && text[0] == '0')) return std::nullopt;
    std::from_chars(text.data(), text.data() + digits, *part);
    text.remove_prefix(digits);
  }
  if (!text.empty()) return std::nullopt;
  return version;
}

std::string to_string(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
         std::to_string(version.patch);
}

bool goes_on(Version data, Version with) {
  return with.minor == data.minor || with.minor == data.minor + 1;
}

VersionFacts facts_of(Version version) {
  const auto [row, patch] = nearest(version);
  VersionFacts facts;
  facts.supported = version.major == 3 && version.minor == row->minor;
  facts.max_learners_flag = patch >= row->max_learners_flag;
  facts.livez_and_readyz = patch >= row->livez_and_readyz;
  facts.readyz_fails_on_learners = patch >= row->readyz_learner_check;
  facts.member_add_wants =
      patch >= row->add_wants_quorum_only ? AddWants::Quorum : AddWants::AllVoters;
  facts.promote_on_leader_only_with_auth = patch < row->follower_promotes_auth;
  facts.member_list_answers = facts.status_answers = list_answers(*row, patch);
  facts.auth_status_answers = row->auth_status;
  facts.experimental_flags = patch < row->experimental_flags_end;
  facts.feature_gates = patch >= row->feature_gates;
  facts.etcdutl_raises_revisions = patch >= row->raises_revisions;
  facts.next_minor_from_patch = row->next_minor;
  facts.recommended_from_patch = row->recommended;
  facts.snapshot_count_default = row->snapshot_count;
  return facts;
}

}  // namespace etcdop::etcd
