// crdgen [--check] CORE_V1.json DIR PAGE: writes the CRDs as YAML into DIR, and their reference
// page; or reports which of them are out of date.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "api/crd.h"
#include "api/crdgen/page.h"
#include "api/crdgen/yaml.h"
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"

namespace etcdop::crdgen {
namespace {

constexpr const char* kQuantity = "io.k8s.apimachinery.pkg.api.resource.Quantity";

/// Replaces "$ref"s by the schemas of core/v1. Keys beside a "$ref" override those of the
/// referenced schema. `prose` is off for fields that users do not write: core's long descriptions
/// are left out there.
class Resolver {
 public:
  explicit Resolver(json::object core) : core_(std::move(core)) {
    core_[kQuantity] = api::Quantity::schema();
  }

  Json resolve(const Json& schema, bool prose) const {
    if (const json::array* list = schema.if_array()) {
      json::array out;
      for (const Json& element : *list) out.push_back(resolve(element, prose));
      return out;
    }
    if (!schema.is_object()) return schema;
    json::object out;
    for (const auto& [key, value] : schema.as_object())
      if (key != "$ref") out[key] = resolve(value, prose && key != "status");
    if (const Json* ref = schema.as_object().if_contains("$ref"))
      refer(ref->as_string(), prose, out);
    return out;
  }

 private:
  void refer(const json::string& type, bool prose, json::object& out) const {
    const Json* target = core_.if_contains(type);
    check(target != nullptr, "core_v1.json has every type that is referred to");
    const Json referred = resolve(prose ? *target : without_prose(*target), prose);
    for (const auto& [key, value] : referred.as_object())
      if (!out.contains(key)) out[key] = value;
  }

  /// A schema's own description is text; a property named "description" would be an object.
  static Json without_prose(const Json& schema) {
    if (!schema.is_object()) return schema;
    json::object out;
    for (const auto& [key, value] : schema.as_object())
      if (key != "description" || !value.is_string()) out[key] = without_prose(value);
    return out;
  }

  json::object core_;
};

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string document(const Resolver& resolver, const Json& crd) {
  return "# Made by crdgen from api/v1alpha2: change that and run `ninja gen`.\n" +
         yaml(resolver.resolve(crd, true));
}

/// Whether the file now has the right content.
bool settle(bool only_check, const std::string& path, const std::string& text) {
  if (text == contents(path)) return true;
  if (only_check) std::cerr << "crdgen: " << path << " is stale, run `ninja gen`\n";
  else if (!(std::ofstream(path) << text).flush())
    std::cerr << "crdgen: cannot write " << path << "\n";
  else return true;
  return false;
}

int run(bool only_check, const std::string& core_path, const std::string& dir,
        const std::string& page_path) {
  boost::system::error_code bad;
  const Json core = json::parse(contents(core_path), bad);
  if (bad || !core.is_object()) {
    std::cerr << "crdgen: " << core_path << " is not a JSON object\n";
    return 1;
  }
  const Resolver resolver(core.as_object());
  bool good = true;
  std::vector<Json> crds;
  for (const Json& crd :
       {api::crd<api::v1alpha2::EtcdCluster>(), api::crd<api::v1alpha2::EtcdMember>(),
        api::crd<api::v1alpha2::EtcdDefrag>(), api::crd<api::v1alpha2::EtcdSnapshot>(),
        api::crd<api::v1alpha2::EtcdSnapshotSchedule>(), api::crd<api::v1alpha2::EtcdRestore>()}) {
    const json::string& plural = crd.at("spec").at("names").at("plural").as_string();
    const std::string path = dir + "/" + plural.c_str() + ".yaml";
    good = settle(only_check, path, document(resolver, crd)) && good;
    crds.push_back(crd);
  }
  return settle(only_check, page_path, page(crds)) && good ? 0 : 1;
}

}  // namespace
}  // namespace etcdop::crdgen

int main(int argc, char** argv) {
  const bool only_check = argc == 5 && std::string(argv[1]) == "--check";
  if (argc != 4 && !only_check) {
    std::cerr << "usage: crdgen [--check] CORE_V1.json DIR PAGE\n";
    return 2;
  }
  return etcdop::crdgen::run(only_check, argv[argc - 3], argv[argc - 2], argv[argc - 1]);
}
