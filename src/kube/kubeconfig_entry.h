// One entry of a kubeconfig (cluster, user, context) and the readers of its fields: each error
// names file and field. yaml-cpp throws; load_config() catches.
#pragma once
#include <yaml-cpp/yaml.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/config.h"

namespace etcdop::kube {

struct Entry {
  std::string file;   ///< Path of the kubeconfig.
  std::string field;  ///< "clusters[prod].cluster".
  YAML::Node node;    ///< A map, or nothing.
  std::string where(const std::string& key) const { return file + ": " + field + "." + key; }
  /// A mapping within this one; without content if it is absent. Invalid: it is not a mapping.
  Result<Entry> child(const std::string& key) const;
  /// The node at `key`; undefined if it is absent or null.
  YAML::Node at(const std::string& key) const;
};

/// Invalid, "WHERE: WHAT".
Error invalid(const std::string& where, const std::string& what);

/// Text of a scalar; "" if absent.
Result<std::string> text(const Entry&, const std::string& key);
/// Texts of a list of scalars; empty if absent.
Result<std::vector<std::string>> texts(const Entry&, const std::string& key);
/// true or false; false if absent.
Result<bool> flag(const Entry&, const std::string& key);
/// True unless the field is absent, null, "" or false.
bool is_set(const Entry&, const std::string& key);

/// Converts as kubectl does. Invalid, with a message that begins with `where`: too deep or too
/// large.
Result<Json> to_json(const YAML::Node&, const std::string& where);

/// `path`; a relative path is resolved against the kubeconfig's folder.
std::string resolved(const std::string& kubeconfig, const std::string& path);

/// PEM from KEY-data, else from the file that KEY names; "" if both are absent. `kind` is a word of
/// its headings.
Result<std::string> pem(const Entry&, const std::string& key, const char* kind, const ReadFile&);

/// Invalid if one of the keys is set: "is not supported yet; INSTEAD".
Result<Done> refuse(const Entry&, std::initializer_list<const char*> keys, const char* instead);

/// Whether it can be sent in a header. (RFC 6750 allows less, but servers decide.)
bool is_token(std::string_view);

}  // namespace etcdop::kube
