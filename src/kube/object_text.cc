#include "kube/object_text.h"

#include <string>
#include <utility>

namespace etcdop::kube {
namespace {

constexpr std::string_view kTooDeep = "nested too deeply to be read";

/// Copies JSON, and writes kTooDeep in place of each field of an object that is nested too deeply.
/// In `metadata`, which identifies the object, it replaces only the inner field: managedFields
/// repeats the nesting of the rest. The same for spec.podTemplate.spec, which users may nest as
/// they like, so that the rest of the spec stays. Works without recursion, so any depth is fine.
class Pruner {
 public:
  Pruner(std::string_view text, std::size_t level) : object_(level + 1), field_depth_(object_) {
    out_.reserve(text.size());
    for (const char c : text) take(c);
  }
  std::string text() && { return std::move(out_); }

 private:
  void take(char c) {
    if (in_text_) {
      if (!skips_) out_ += c;
      in_text_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      return;
    }
    in_text_ = c == '"';
    if (in_text_) name_ = out_.size();
    if (c == '{' || c == '[') ++depth_;
    if (depth_ >= object_ + kObjectDepthMax && field_ > 0 && !skips_) {
      out_.resize(field_);
      (out_ += '"').append(kTooDeep) += '"';
      skips_ = true;
    }
    if (!skips_) out_ += c;
    if (c == ':' && !skips_) begin_value();
    if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == field_depth_) skips_ = false;
  }
  /// Called after a field's name and its colon.
  void begin_value() {
    const std::string_view name = std::string_view(out_).substr(name_);
    if (depth_ == object_) {
      in_metadata_ = name == "\"metadata\":";
      in_spec_ = name == "\"spec\":";
      in_template_ = false;
      own_field_ = out_.size();
      if (in_metadata_) replace_at(object_ + 1, 0);
      else replace_at(object_, own_field_);
    } else if (in_metadata_ && depth_ == object_ + 1) {
      replace_at(depth_, out_.size());
    } else if (in_spec_ && depth_ == object_ + 1) {
      in_template_ = name == "\"podTemplate\":";
      replace_at(object_, own_field_);
    } else if (in_template_ && depth_ == object_ + 2) {
      if (name == "\"spec\":") replace_at(depth_, out_.size());
      else replace_at(object_, own_field_);
    }
  }
  void replace_at(std::size_t depth, std::size_t field) {
    field_depth_ = depth;
    field_ = field;
  }

  const std::size_t object_;  ///< Depth of an object's own fields.
  std::size_t field_depth_;   ///< Depth of the field that is replaced if it goes too deep.
  std::string out_;
  std::size_t depth_ = 0;
  std::size_t name_ = 0;       ///< Where the last text begins.
  std::size_t field_ = 0;      ///< Where the value of that field begins; 0: none.
  std::size_t own_field_ = 0;  ///< Where the value of the object's last own field begins.
  bool in_metadata_ = false, in_spec_ = false, in_template_ = false;  ///< Where this value is.
  bool in_text_ = false, escaped_ = false;
  bool skips_ = false;  ///< Skipping the rest of a field that is nested too deeply.
};

}  // namespace

Json parse_objects(std::string_view text, std::size_t level, boost::system::error_code& wrong,
                   json::storage_ptr memory) {
  json::parse_options options;
  options.max_depth = level + kObjectDepthMax;
  Json whole = json::parse(text, wrong, memory, options);
  if (wrong != json::error::too_deep) return whole;
  wrong.clear();
  return json::parse(Pruner(text, level).text(), wrong, std::move(memory), options);
}

bool is_too_deep(const Json& value) {
  return value.is_string() && std::string_view(value.get_string()) == kTooDeep;
}

std::string too_deep_field(const Json& object) {
  if (const json::object* const fields = object.if_object())
    for (const auto& [name, value] : *fields)
      if (is_too_deep(value)) return std::string(name);
  return "";
}

}  // namespace etcdop::kube
