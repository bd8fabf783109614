#include "kube/reflector.h"

namespace etcdop::kube {

Identity identity_of(const Json& object) {
  const json::object* const fields = object.if_object();
  const Json* const metadata = fields ? fields->if_contains("metadata") : nullptr;
  const json::object* const inner = metadata ? metadata->if_object() : nullptr;
  const auto text = [inner](const char* field) {
    const Json* const value = inner ? inner->if_contains(field) : nullptr;
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  return {{text("namespace"), text("name")}, text("uid")};
}

}  // namespace etcdop::kube
