// A fuzzer's operations on a few etcds.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop::contract {

/// Nodes are numbered in the order of their plan. `who`: the caller: 0 without a token, 1 root, 2
/// bob, 3 an unknown token.
struct Op {
  enum class Kind {
    Put,
    Get,
    Erase,
    Compact,
    Defragment,
    Hash,
    Snapshot,
    Status,
    List,
    Alarms,
    Raise,
    DisarmAll,
    Fill,
    Recover,
    Add,
    Promote,
    Remove,
    MoveLeader,
    Kill,
    Start,
    AddUser,
    Grant,
    EnableAuth,
    AuthStatus,
    Authenticate
  };
  Kind kind = Kind::Put;
  std::size_t node = 0;   ///< The node that is asked.
  std::size_t other = 0;  ///< The member in question; kNobody: an unknown ID.
  int who = 0;
  std::string key = {}, end = {}, value = {};
  std::int64_t revision = 0;
  bool flag = false;  ///< Reads: serializable; Raise: corrupt.

  static constexpr std::size_t kNobody = 1000;
  /// A late answer is possible, and a repeated question does no harm.
  bool reads() const {
    return kind == Kind::Get || kind == Kind::Hash || kind == Kind::Status || kind == Kind::List ||
           kind == Kind::Alarms || kind == Kind::AuthStatus;
  }
  bool of_membership() const {
    return kind == Kind::Add || kind == Kind::Promote || kind == Kind::Remove;
  }
};

std::string shown(const Op&);

}  // namespace etcdop::contract
