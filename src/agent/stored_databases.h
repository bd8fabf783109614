// For tests: snapshots of real etcds (databases.json).
#pragma once
#include <string>
#include <vector>

#include "base/base64.h"
#include "base/json.h"
#include "sys/system.h"

namespace etcdop::agent {

struct StoredDatabase {
  std::string version;  ///< "3.6.16": the etcd's version.
  bool auth = false;
  std::string snapshot;  ///< With its sha256.
};

/// `path`: of databases.json.
inline std::vector<StoredDatabase> stored_databases(const std::string& path) {
  auto text = read_file(path);
  check(bool(text), "databases.json is there");
  std::vector<StoredDatabase> out;
  const Json all = json::parse(*text);
  for (const Json& one : all.as_array()) {
    StoredDatabase database{.version = std::string(one.at("version").as_string()),
                            .auth = one.at("auth").as_bool(),
                            .snapshot = std::string(one.at("size").to_number<std::size_t>(), 0)};
    for (const Json& run : one.at("runs").as_array()) {
      const auto bytes = from_base64(run.at(1).as_string());
      check(bytes.has_value(), "a run is base64");
      database.snapshot.replace(run.at(0).to_number<std::size_t>(), bytes->size(), *bytes);
    }
    out.push_back(std::move(database));
  }
  return out;
}

}  // namespace etcdop::agent
