// Users and their permissions once authentication is on. Pure; each member derives it from its log.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/secret.h"
#include "sim/etcd/store.h"

namespace etcdop::sim {

/// The caller, identified by its token, and the revision of the users at that moment. Revision 0:
/// unauthenticated.
struct Caller {
  std::string user;
  std::uint64_t revision = 0;
};

/// Roles other than root grant nothing: they cannot be created. Source: etcd's
/// server/auth/store.go.
class Users {
 public:
  bool enabled() const { return enabled_; }
  std::uint64_t revision() const { return revision_; }
  Refusal add(const std::string& name, const Secret& password);
  Refusal change_password(const std::string& name, const Secret& password);
  Refusal grant(const std::string& name, const std::string& role);
  Refusal enable();
  /// Code 0 if the password is correct.
  Refusal check_password(const std::string& name, const Secret& password) const;
  Refusal may_administer(const Caller&) const;
  Refusal may_touch_keys(const Caller&) const;
  /// A real etcd stores only a hash of each password.
  void write(std::string& out) const;
  static Users read(WordReader&);
  bool operator==(const Users&) const = default;

 private:
  struct User {
    Secret password;
    std::set<std::string> roles;
    bool operator==(const User&) const = default;
  };
  bool is_root(const std::string& name) const;
  std::map<std::string, User> users_;
  std::uint64_t revision_ = 1;
  bool enabled_ = false;
};

}  // namespace etcdop::sim
