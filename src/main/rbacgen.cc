// Writes the chart's RBAC rules from the controllers' tables, or checks that they are up to date:
// rbacgen [--check] CHART_FILES_DIR.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "operator/operator.h"
#include "runtime/access.h"
#include "runtime/leader.h"

namespace {

using etcdop::kube::Permission;
using etcdop::kube::Verb;
using enum etcdop::kube::Verb;

const char* word(Verb verb) {
  switch (verb) {
    case Verb::Get: return "get";
    case Verb::List: return "list";
    case Verb::Watch: return "watch";
    case Verb::Create: return "create";
    case Verb::Patch: return "patch";
    case Verb::Delete: return "delete";
    case Verb::Update: return "update";
  }
  return "";
}

/// One rule per group, resource, subresource and name: permissions of several controllers are
/// merged.
std::string rules(const std::vector<Permission>& permissions) {
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> verbs;
  for (const Permission& p : permissions) {
    std::string resource = p.resource.plural;
    if (!p.subresource.empty()) resource.append("/").append(p.subresource);
    for (const Verb verb : {Get, List, Watch, Create, Patch, Delete, Update})
      if (p.verbs.contain(verb))
        verbs[{p.resource.group, resource, std::string(p.name)}].insert(word(verb));
  }
  std::string out =
      "# Made by rbacgen from the controllers' tables (rbac.h): change those, then ./dev "
      "gen.\nrules:\n";
  for (const auto& [what, allowed] : verbs) {
    const auto& [group, resource, name] = what;
    out += "  - apiGroups: [\"" + group + "\"]\n    resources: [\"" + resource + "\"]\n";
    if (!name.empty()) out += "    resourceNames: [\"" + name + "\"]\n";
    out += "    verbs: [";
    for (bool first = true; const std::string& verb : allowed) {
      out += (first ? "\"" : ", \"") + verb + "\"";
      first = false;
    }
    out += "]\n";
  }
  return out;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "rbacgen: cannot write %s\n", path.c_str());
  return bool(file);
}

bool is_fresh(const std::string& path, const std::string& text) {
  std::ifstream file(path, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(file), {}};
  if (found != text) std::fprintf(stderr, "rbacgen: %s is stale: run ./dev gen\n", path.c_str());
  return found == text;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string_view(argv[1]) == "--check";
  if (argc != (check ? 3 : 2)) {
    std::fprintf(stderr, "usage: rbacgen [--check] CHART_FILES_DIR\n");
    return 2;
  }
  const std::string dir = argv[argc - 1];
  const auto handle = check ? is_fresh : write_file;
  const bool rules_good = handle(dir + "/rbac-manager.yaml", rules(etcdop::operator_permissions()));
  const bool lease_good =
      handle(dir + "/rbac-leader-election.yaml", rules(etcdop::runtime::leader_permissions()));
  const bool proxy_good =
      handle(dir + "/rbac-proxy.yaml", rules(etcdop::runtime::access_permissions()));
  return rules_good && lease_good && proxy_good ? 0 : 1;
}
