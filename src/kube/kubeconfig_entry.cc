#include "kube/kubeconfig_entry.h"

#include <algorithm>
#include <cstdint>

#include "base/base64.h"

namespace etcdop::kube {
namespace {

constexpr int kDepthMax = 32;
constexpr int kValuesMax = 10'000;  // YAML aliases can expand a small file enormously.

Json scalar(const YAML::Node& node) {
  if (node.Tag() == "!") return Json(node.Scalar());  // A quoted scalar.
  bool truth = false;
  std::int64_t whole = 0;
  double number = 0;
  if (YAML::convert<bool>::decode(node, truth)) return Json(truth);
  if (YAML::convert<std::int64_t>::decode(node, whole)) return Json(whole);
  if (YAML::convert<double>::decode(node, number)) return Json(number);
  return Json(node.Scalar());
}

Result<Json> converted(const YAML::Node& node, const std::string& where, int depth, int& values) {
  if (depth > kDepthMax || ++values > kValuesMax) return invalid(where, "is too deep or too large");
  if (!node || node.IsNull()) return Json(nullptr);
  if (node.IsScalar()) return scalar(node);
  if (node.IsSequence()) {
    json::array out;
    for (const YAML::Node& each : node) {
      auto value = converted(each, where, depth + 1, values);
      if (!value) return value;
      out.push_back(std::move(*value));
    }
    return Json(std::move(out));
  }
  json::object out;
  for (const auto& each : node) {
    auto value = converted(each.second, where, depth + 1, values);
    if (!value) return value;
    if (!each.first.IsScalar()) return invalid(where, "has a key that is no text");
    out[each.first.Scalar()] = std::move(*value);
  }
  return Json(std::move(out));
}

}  // namespace

Error invalid(const std::string& where, const std::string& what) {
  return {Code::Invalid, where + ": " + what};
}

YAML::Node Entry::at(const std::string& key) const {
  const YAML::Node value = node ? node[key] : YAML::Node(YAML::NodeType::Undefined);
  return value && !value.IsNull() ? value : YAML::Node(YAML::NodeType::Undefined);
}

Result<Entry> Entry::child(const std::string& key) const {
  const YAML::Node value = at(key);
  if (value && !value.IsMap()) return invalid(where(key), "expected a mapping");
  return Entry{file, field + "." + key, value ? value : YAML::Node(YAML::NodeType::Map)};
}

Result<std::string> text(const Entry& entry, const std::string& key) {
  const YAML::Node value = entry.at(key);
  if (!value) return std::string();
  if (!value.IsScalar()) return invalid(entry.where(key), "expected text");
  return value.Scalar();
}

Result<std::vector<std::string>> texts(const Entry& entry, const std::string& key) {
  std::vector<std::string> out;
  const YAML::Node value = entry.at(key);
  if (!value) return out;
  if (!value.IsSequence()) return invalid(entry.where(key), "expected a list");
  for (const YAML::Node& each : value) {
    if (!each.IsScalar())
      return invalid(entry.where(key) + "[" + std::to_string(out.size()) + "]", "expected text");
    out.push_back(each.Scalar());
  }
  return out;
}

Result<bool> flag(const Entry& entry, const std::string& key) {
  auto value = text(entry, key);
  if (!value) return value.error();
  if (value->empty() || *value == "false") return false;
  if (*value == "true") return true;
  return invalid(entry.where(key), "expected true or false");
}

bool is_set(const Entry& entry, const std::string& key) {
  const YAML::Node value = entry.at(key);
  if (!value) return false;
  if (value.IsScalar()) return !value.Scalar().empty() && value.Scalar() != "false";
  return value.size() > 0;
}

Result<Json> to_json(const YAML::Node& node, const std::string& where) {
  int values = 0;
  return converted(node, where, 0, values);
}

std::string resolved(const std::string& kubeconfig, const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::size_t slash = kubeconfig.rfind('/');
  return slash == std::string::npos ? path : kubeconfig.substr(0, slash + 1) + path;
}

Result<std::string> pem(const Entry& entry, const std::string& key, const char* kind,
                        const ReadFile& read_file) {
  auto data = text(entry, key + "-data");
  if (!data) return data.error();
  auto path = text(entry, key);
  if (!path) return path.error();
  std::string where = entry.where(key + "-data"), out;
  if (!data->empty()) {
    const auto decoded = from_base64(*data);
    if (!decoded) return invalid(where, "is not base64");
    out = *decoded;
  } else if (!path->empty()) {
    where = entry.where(key);
    auto content = read_file(resolved(entry.file, *path));
    if (!content) return invalid(where, content.error().message);
    out = *content;
  } else {
    return std::string();
  }
  if (out.find("-----BEGIN ") == std::string::npos || out.find(kind) == std::string::npos)
    return invalid(where, std::string("holds no PEM ") + kind);
  return out;
}

Result<Done> refuse(const Entry& entry, std::initializer_list<const char*> keys,
                    const char* instead) {
  for (const char* key : keys)
    if (is_set(entry, key))
      return invalid(entry.where(key), std::string("is not supported yet; ") + instead);
  return Done{};
}

bool is_token(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7F; });
}

}  // namespace etcdop::kube
