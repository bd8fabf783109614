// What a fuzzer does to a few etcds, one operation at a time.
#pragma once
#include <cstdint>
#include <string>

namespace etcdop::contract {

/// Nodes are numbered as they were planned. Who asks: 0 nobody, 1 root, 2 bob, 3 a token of nobody.
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
  std::size_t node = 0;   ///< Who is asked.
  std::size_t other = 0;  ///< The member that it is about; kNobody: an id that is none.
  int who = 0;
  std::string key = {}, end = {}, value = {};
  std::int64_t revision = 0;
  bool flag = false;  ///< Reads: serializable; Raise: corrupt.

  static constexpr std::size_t kNobody = 1000;
  /// An answer may come late, and asking again does no harm.
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
