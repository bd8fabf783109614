#include "operator/credentials/passwords.h"

#include <algorithm>

namespace etcdop {

std::string auth_secret_name(const std::string& cluster) { return cluster + "-operator-auth"; }

KeptPasswords to_keep(const Passwords& known) {
  const KeptPasswords& kept = known.kept;
  if (known.current.empty())  // A request that creates root with it may be on its way.
    return kept.password.empty() ? KeptPasswords{known.wanted, {}, {}} : kept;
  const bool changing = known.current == kept.password && !kept.next.empty();
  if (changing && kept.next != kept.password) return kept;
  const bool other = !known.wanted.empty() && known.wanted != known.current;
  const bool changed = known.current != kept.password;
  return {known.current, other ? known.wanted : Secret(), changed ? kept.password : kept.previous};
}

PasswordStep next_step(const Passwords& known) {
  if (known.current.empty() && known.wanted.empty()) return PasswordStep::None;
  if (to_keep(known) != known.kept) return PasswordStep::Record;
  const bool changing = !known.current.empty() && !known.kept.next.empty();
  return changing ? PasswordStep::Change : PasswordStep::None;
}

std::vector<Secret> candidates(const Passwords& known) {
  std::vector<Secret> out;
  for (const Secret& one :
       {known.wanted, known.kept.password, known.kept.next, known.kept.previous})
    if (!one.empty() && std::ranges::find(out, one) == out.end()) out.push_back(one);
  return out;
}

}  // namespace etcdop
