// What one member keeps: its identity, its log, and what it made of the log so far. Pure.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "etcd/member.h"
#include "sim/etcd/net.h"

namespace etcdop::sim {

/// What an entry of the log asks for.
struct Change {
  enum class Kind { None, Add, Promote, Remove, Publish, Put, Version };
  Kind kind = Kind::None;
  etcd::Member member;      ///< Add, Publish: all of it; Promote, Remove: its id.
  std::string key;          ///< Put.
  std::uint64_t value = 0;  ///< Put.
  int minor = 0;            ///< Version.
  bool of_membership() const {
    return kind == Kind::Add || kind == Kind::Promote || kind == Kind::Remove;
  }
};

struct Entry {
  std::uint64_t term = 0;
  std::uint64_t ticket = 0;  ///< Whoever waits for it knows it by this number.
  Change change;
};

/// Why etcd refuses, as gRPC has it; code 0: it does not.
struct Refusal {
  int code = 0;
  std::string text;
};
inline constexpr int kNotFound = 5, kFailedPrecondition = 9, kUnavailable = 14;

/// A member's copy of what the cluster agreed on.
struct Applied {
  std::uint64_t index = 0;
  std::map<etcd::MemberId, etcd::Member> members;
  std::set<etcd::MemberId> removed;  ///< For ever.
  std::map<std::string, std::uint64_t> keys;
  int minor = -1;  ///< The cluster's version; -1: not agreed on yet.
  /// Takes the next entry. A refused one changes nothing, on this member: with another limit of
  /// learners another member may accept it. Source: ValidateConfigurationChange.
  Refusal take(const Entry&, std::size_t max_learners);
  std::vector<etcd::MemberId> voters() const;
  bool votes(etcd::MemberId) const;
  bool learns(etcd::MemberId) const;
};

struct DataDir {
  struct Owner {
    etcd::ClusterId cluster;
    etcd::MemberId member;
  };
  using Entries = std::vector<std::shared_ptr<const Entry>>;
  std::optional<Owner> owner;
  std::uint64_t term = 0, commit = 0;
  Entries entries;  ///< Index 1 is the first.
  Applied applied;
  bool corrupt = false;  ///< The next start fails.
  bool copied = false;   ///< It may have forgotten what it promised: raft's guarantees are void.
  bool in_use = false;   ///< A process runs on it.

  std::uint64_t last() const { return entries.size(); }
  std::uint64_t term_at(std::uint64_t index) const {
    return index == 0 ? 0 : entries[index - 1]->term;
  }
  std::uint64_t last_term() const { return term_at(last()); }
  /// How far both logs are the same.
  std::uint64_t shared_with(const DataDir&) const;
};

}  // namespace etcdop::sim
