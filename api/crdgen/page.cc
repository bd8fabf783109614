#include "api/crdgen/page.h"

#include <map>

namespace etcdop::crdgen {
namespace {

constexpr const char* kIntro =
    "<!-- Made by crdgen from api/v1alpha2: change that and run `ninja gen`. -->\n\n"
    "# API reference\n\n"
    "The API server checks all constraints. [operations.md](operations.md) explains conditions and "
    "their reasons.\n";
constexpr const char* kTable =
    "| Field | Type | Default | Constraints | Description |\n"
    "|---|---|---|---|---|\n";

const Json* find(const Json& schema, const char* key) {
  return schema.is_object() ? schema.as_object().if_contains(key) : nullptr;
}

std::string text(const Json& schema, const char* key) {
  const Json* found = find(schema, key);
  return found && found->is_string() ? std::string(found->as_string()) : "";
}

/// Escapes text that would end a table cell.
std::string cell(const std::string& words) {
  std::string out;
  for (const char c : words) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(const std::string& words) { return "`" + words + "`"; }

/// "io.k8s.api.core.v1.Affinity" is "core/v1 Affinity".
std::string core_name(const std::string& ref) {
  return "core/v1 " + ref.substr(ref.rfind('.') + 1);
}

std::string type_of(const Json& schema) {
  if (const std::string ref = text(schema, "$ref"); !ref.empty()) return core_name(ref);
  if (find(schema, "x-kubernetes-int-or-string")) return "quantity";
  const std::string type = text(schema, "type"), format = text(schema, "format");
  if (const Json* items = find(schema, "items")) return "list of " + type_of(*items);
  if (const Json* values = find(schema, "additionalProperties"))
    return "map to " + type_of(*values);
  return format.empty() ? type : format;
}

std::string default_of(const Json& schema) {
  const Json* value = find(schema, "default");
  return value ? code(cell(serialize(*value))) : "";
}

/// Joins constraints in words.
class Constraints {
 public:
  void add(const std::string& words) { (out_ += out_.empty() ? "" : "; ") += words; }
  /// If the schema has that key, adds `words` followed by the key's value.
  void add(const Json& schema, const char* key, const std::string& words) {
    if (const Json* value = find(schema, key)) add(words + serialize(*value));
  }
  const std::string& words() const { return out_; }

 private:
  std::string out_;
};

std::string constraints_of(const Json& schema, bool required) {
  Constraints all;
  if (required) all.add("required");
  if (const Json* values = find(schema, "enum")) {
    std::string list;
    for (const Json& value : values->as_array())
      list += (list.empty() ? "" : ", ") + code(serialize(value));
    all.add("one of " + list);
  }
  all.add(schema, "minimum", "≥ ");
  all.add(schema, "maximum", "≤ ");
  all.add(schema, "minLength", "length ≥ ");
  all.add(schema, "maxLength", "length ≤ ");
  all.add(schema, "minItems", "number ≥ ");
  all.add(schema, "maxItems", "number ≤ ");
  if (!find(schema, "x-kubernetes-int-or-string"))  // A quantity's pattern is no help.
    if (const std::string pattern = text(schema, "pattern"); !pattern.empty())
      all.add("like " + code(cell(pattern)));
  if (const Json* rules = find(schema, "x-kubernetes-validations"))
    for (const Json& rule : rules->as_array()) all.add(cell(text(rule, "message")));
  return all.words();
}

/// The rules for an object as a whole, as a list.
std::string rules_of(const Json& schema) {
  const Json* rules = find(schema, "x-kubernetes-validations");
  std::string out;
  if (rules)
    for (const Json& rule : rules->as_array()) out += "- " + text(rule, "message") + "\n";
  return out.empty() ? "" : "\n" + out;
}

/// The rows of one table.
class Rows {
 public:
  /// Adds the fields below `schema`, whose own path is `path` ("" or a path that ends in a dot).
  void add(const Json& schema, const std::string& path) {
    const Json* properties = find(schema, "properties");
    if (!properties) return;
    for (const auto& [name, field] : properties->as_object()) {
      bool required = false;
      if (const Json* names = find(schema, "required"))
        for (const Json& n : names->as_array()) required = required || n == Json(name);
      add_field(field, path + std::string(name), required);
    }
  }
  const std::string& markdown() const { return out_; }

 private:
  void add_field(const Json& field, const std::string& path, bool required) {
    const Json* items = find(field, "items");
    const Json& inner = items ? *items : field;
    const Json* properties = find(inner, "properties");
    std::string type = type_of(field);
    bool below = properties != nullptr;
    if (below) {
      const auto [seen, fresh] = seen_.emplace(serialize(*properties), path);
      if (!fresh) (type += ", as ") += code(seen->second);
      below = fresh;
    }
    (((out_ += "| ") += code(path)) += " | ") += type;
    (((out_ += " | ") += default_of(field)) += " | ") += constraints_of(field, required);
    ((out_ += " | ") += cell(text(field, "description"))) += " |\n";
    if (below) add(inner, path + (items ? "[]." : "."));
  }

  std::string out_;
  std::map<std::string, std::string> seen_;  // The path that first had these fields.
};

std::string section(const Json& crd) {
  const Json& spec = crd.at("spec");
  const Json& version = spec.at("versions").at(0);
  const Json& schema = version.at("schema").at("openAPIV3Schema");
  const std::string plural = text(spec.at("names"), "plural");
  std::string columns, wide;
  for (const Json& column : version.at("additionalPrinterColumns").as_array()) {
    std::string& row = find(column, "priority") ? wide : columns;
    row += (row.empty() ? "" : ", ") + text(column, "name");
  }
  if (!wide.empty()) columns += "; with " + code("-o wide") + ", also " + wide;
  std::string out = "\n## " + text(spec.at("names"), "kind") + "\n\n" +
                    text(schema, "description") + " `apiVersion: " + text(spec, "group") + "/" +
                    text(version, "name") + "`. " + code("kubectl get " + plural) + " shows " +
                    columns + ".";
  if (const Json* scale = find(version.at("subresources"), "scale"))
    out += " " + code("kubectl scale") + " sets " + code(text(*scale, "specReplicasPath")) + ".";
  out += "\n";
  out += rules_of(schema);
  Rows rows;  // For both tables, so that the status may refer to the spec.
  for (const char* part : {"spec", "status"}) {
    const Json& fields = schema.at("properties").at(part);
    out += std::string("\n### ") + part + "\n" + rules_of(fields) + "\n";
    const std::size_t before = rows.markdown().size();
    rows.add(fields, std::string(part) + ".");
    out += kTable + rows.markdown().substr(before);
  }
  return out;
}

}  // namespace

std::string page(const std::vector<Json>& crds) {
  std::string out = kIntro;
  for (const Json& crd : crds) out += section(crd);
  return out;
}

}  // namespace etcdop::crdgen
