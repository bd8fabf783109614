// One member's data: its identity, its log and the state applied from the log. Pure.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "etcd/member.h"
#include "etcd/version_facts.h"
#include "sim/etcd/image.h"
#include "sim/etcd/net.h"
#include "sim/etcd/store.h"
#include "sim/etcd/users.h"

namespace etcdop::sim {

/// The change that a log entry asks for.
struct Change {
  enum class Kind {
    None,
    Add,
    Promote,
    Remove,
    Publish,
    Version,
    Put,
    Delete,
    Compact,
    Raise,
    Disarm,
    Alarms,
    AddUser,
    ChangePassword,
    Grant,
    EnableAuth,
    AskAuth,
    Authenticate
  };
  Kind kind = Kind::None;
  etcd::Member member;         ///< Add, Publish: all of it; Promote, Remove: the ID only.
  int minor = 0;               ///< Version.
  std::string key, value;      ///< Put, Delete.
  std::string end;             ///< Delete: as in Store.
  std::int64_t revision = 0;   ///< Compact.
  std::optional<Alarm> alarm;  ///< Raise, Disarm; Alarms: only this kind.
  std::string user;            ///< AddUser, ChangePassword, Grant, Authenticate.
  std::string word;            ///< Grant: the role; Authenticate: the token's prefix.
  Secret password;             ///< AddUser, ChangePassword.
  Caller caller;               ///< For changes that check the caller when they are applied.
  bool of_membership() const {
    return kind == Kind::Add || kind == Kind::Promote || kind == Kind::Remove;
  }
};

struct Entry {
  std::uint64_t term = 0;
  std::uint64_t ticket = 0;  ///< Identifies the entry to the request that waits for it.
  Change change;
};

/// The effect of an entry on one member.
struct Taken {
  Refusal refusal;
  std::int64_t count = 0;  ///< Delete: the number of keys.
  Alarms alarms;           ///< The alarms that exist, or that were raised or disarmed.
  std::string token;       ///< Authenticate.
  std::string expired;     ///< ChangePassword: this user's tokens expire.
};

struct Flags;

/// A member's copy of what the cluster agreed on.
struct Applied {
  std::uint64_t index = 0;
  std::map<etcd::MemberId, etcd::Member> members;
  std::set<etcd::MemberId> removed;       ///< For ever.
  std::size_t most_learners = 0;          ///< The most at one time, since the beginning of the log.
  std::uint64_t several_learners_at = 0;  ///< The last entry that added a learner beside another.
  Store store;
  Alarms alarms;
  Users users;
  int minor = -1;  ///< The cluster's version; -1: not agreed on yet.
  /// Takes the next entry. A refused entry changes nothing on this member; another member may
  /// accept it under another learner limit. A put over the quota is refused, and counts as applied.
  /// Source: ValidateConfigurationChange, uber_applier.go.
  /// `by_snapshot`: the entry's effect comes with a raft snapshot, so no limit of ours matters.
  Taken take(const Entry&, const Flags&, const etcd::VersionFacts&, bool by_snapshot = false);
  /// Whether a put of this size fits. Source: storage/quota.go.
  bool has_room(const std::string& key, const std::string& value, const Flags&) const;
  /// Before the first entry.
  void begin_with(const Image&);
  std::vector<etcd::MemberId> voters() const;
  bool votes(etcd::MemberId) const;
  bool learns(etcd::MemberId) const;

 private:
  Taken write(const Change&, const Flags&);
  Taken change_alarms(const Change&);
  Taken change_users(const Change&, const etcd::VersionFacts&);
};

/// The image that a data dir was rebuilt from, and its first members.
struct Restored {
  Image image;  ///< With the bumped revision, if requested.
  std::map<etcd::MemberId, etcd::Member> founders;
  std::string token, name;
};

struct DataDir {
  struct Owner {
    etcd::ClusterId cluster;
    etcd::MemberId member;
  };
  using Entries = std::vector<std::shared_ptr<const Entry>>;
  std::optional<Owner> owner;
  std::uint64_t term = 0, commit = 0;
  Entries entries;  ///< Index 1 is the first entry.
  /// The index of its newest raft snapshot: a process that starts applies again what comes after
  /// it. The earlier entries stay in `entries`, for the checks of this fake.
  std::uint64_t snapshot = 0;
  std::uint64_t received = 0;  ///< The index of the raft snapshot that it joined with; 0: none.
  /// The state before the first entry; null: empty. The first start on it is a birth.
  std::shared_ptr<const Restored> restored;
  Applied applied;
  bool corrupt = false;  ///< The next start fails.
  bool copied = false;   ///< It may have lost what it promised: raft's guarantees are void.
  bool in_use = false;   ///< A process runs on it.

  std::uint64_t last() const { return entries.size(); }
  std::uint64_t term_at(std::uint64_t index) const {
    return index == 0 ? 0 : entries[index - 1]->term;
  }
  std::uint64_t last_term() const { return term_at(last()); }
  /// Length of the common prefix of both logs.
  std::uint64_t shared_with(const DataDir&) const;
};

}  // namespace etcdop::sim
