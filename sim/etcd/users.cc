#include "sim/etcd/users.h"

#include "sim/etcd/words.h"

namespace etcdop::sim {
namespace {
constexpr const char* kRoot = "root";  // The user's name and the role's.
}

Refusal Users::add(const std::string& name, const Secret& password) {
  if (name.empty()) return refused("user name is empty", kInvalidArgument);
  if (!users_.try_emplace(name, User{.password = password, .roles = {}}).second)
    return refused("user name already exists");
  ++revision_;
  return {};
}

Refusal Users::change_password(const std::string& name, const Secret& password) {
  const auto found = users_.find(name);
  if (found == users_.end()) return refused("user name not found");
  found->second.password = password;
  ++revision_;
  return {};
}

Refusal Users::grant(const std::string& name, const std::string& role) {
  const auto found = users_.find(name);
  if (found == users_.end()) return refused("user name not found");
  if (role != kRoot) return refused("role name not found");
  if (found->second.roles.insert(role).second) ++revision_;
  return {};
}

Refusal Users::enable() {
  if (enabled_) return {};
  if (!users_.contains(kRoot)) return refused("root user does not exist");
  if (!is_root(kRoot)) return refused("root user does not have root role");
  enabled_ = true;
  return {};
}

Refusal Users::check_password(const std::string& name, const Secret& password) const {
  if (!enabled_) return refused("authentication is not enabled");
  const auto found = users_.find(name);
  if (found != users_.end() && found->second.password == password) return {};
  return refused("authentication failed, invalid user ID or password", kInvalidArgument);
}

Refusal Users::may_administer(const Caller& caller) const {
  if (!enabled_) return {};
  if (caller.user.empty()) return refused("user name is empty", kInvalidArgument);
  if (!is_root(caller.user)) return refused("permission denied", kPermissionDenied);
  return {};
}

Refusal Users::may_touch_keys(const Caller& caller) const {
  if (!enabled_) return {};
  if (caller.revision == 0) return refused("user name is empty", kInvalidArgument);
  if (caller.revision < revision_)
    return refused("revision of auth store is old", kInvalidArgument);
  return may_administer(caller);
}

void Users::write(std::string& out) const {
  write_word(out, std::int64_t{enabled_});
  write_word(out, static_cast<std::int64_t>(revision_));
  write_word(out, static_cast<std::int64_t>(users_.size()));
  for (const auto& [name, user] : users_) {
    write_word(out, name);
    write_word(out, user.password.reveal());
    write_word(out, static_cast<std::int64_t>(user.roles.size()));
    for (const std::string& role : user.roles) write_word(out, role);
  }
}

Users Users::read(WordReader& reader) {
  Users out;
  out.enabled_ = reader.number() != 0;
  out.revision_ = static_cast<std::uint64_t>(reader.number());
  for (std::int64_t left = reader.number(); reader.good() && left > 0; --left) {
    User& user = out.users_[reader.string()];
    user.password = Secret(reader.string());
    for (std::int64_t roles = reader.number(); reader.good() && roles > 0; --roles)
      user.roles.insert(reader.string());
  }
  return out;
}

bool Users::is_root(const std::string& name) const {
  const auto found = users_.find(name);
  return found != users_.end() && found->second.roles.contains(kRoot);
}

}  // namespace etcdop::sim
