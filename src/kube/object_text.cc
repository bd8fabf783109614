#include "kube/object_text.h"

#include <algorithm>
#include <string>
#include <utility>

namespace etcdop::kube {
namespace {

constexpr std::string_view kTooDeep = "nested too deeply to be read";
constexpr std::string_view kTooLong = "too long to be read";
/// After so many bytes of an object, only its short fields are copied.
constexpr std::size_t kObjectBytes = 2 << 20, kShortField = 1 << 10;

bool is(const Json& value, std::string_view text) {
  return value.is_string() && std::string_view(value.get_string()) == text;
}

}  // namespace

void Pruner::take(char c) {
  if (in_text_) {
    if (!skips_) out_ += c;
    in_text_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
    if (is_too_long()) skip(kTooLong);
    if (!in_text_ && depth_ == field_depth_) skips_ = false;
    return;
  }
  in_text_ = c == '"';
  if (in_text_) name_ = out_.size();
  if (c == '{' || c == '[') ++depth_;
  if (depth_ >= object_ + kObjectDepthMax && field_ > 0 && !skips_) skip(kTooDeep);
  if (!skips_) out_ += c;
  if (is_dropped_ && depth_ > field_depth_ && field_ > 0 && !skips_) {
    out_.resize(field_);
    out_ += "[]";
    skips_ = true;
  }
  if (is_too_long()) skip(kTooLong);
  if (c == ':' && !skips_) begin_value();
  if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == field_depth_) skips_ = false;
  if (c == ',' && depth_ == field_depth_) field_ = 0;  // Another field's name follows.
}

bool Pruner::is_too_long() const {
  if (skips_ || field_ == 0) return false;
  const std::size_t most = field_ > kObjectBytes ? kShortField : kFieldBytesMax;
  return out_.size() - field_ > most;
}

void Pruner::skip(std::string_view instead) {
  out_.resize(field_);
  (out_ += '"').append(instead) += '"';
  skips_ = true;
}

/// Called after a field's name and its colon.
void Pruner::begin_value() {
  // A text that is no JSON may have a colon without a name, after a field that was replaced.
  const std::string_view name = std::string_view(out_).substr(std::min(name_, out_.size()));
  is_dropped_ = false;
  if (depth_ == object_) {
    in_metadata_ = name == "\"metadata\":";
    in_spec_ = name == "\"spec\":";
    in_template_ = false;
    own_field_ = out_.size();
    if (in_metadata_) replace_at(object_ + 1, 0);
    else replace_at(object_, own_field_);
  } else if (in_metadata_ && depth_ == object_ + 1) {
    is_dropped_ = name == "\"managedFields\":";
    replace_at(depth_, out_.size());
  } else if (in_spec_ && depth_ == object_ + 1) {
    in_template_ = name == "\"podTemplate\":";
    replace_at(object_, own_field_);
  } else if (in_template_ && depth_ == object_ + 2) {
    if (name == "\"spec\":") replace_at(depth_, out_.size());
    else replace_at(object_, own_field_);
  }
}

Json parse_objects(std::string_view text, std::size_t level, boost::system::error_code& wrong,
                   json::storage_ptr memory) {
  json::parse_options options;
  options.max_depth = level + kObjectDepthMax;
  if (text.size() <= kFieldBytesMax) {
    Json whole = json::parse(text, wrong, memory, options);
    if (wrong != json::error::too_deep) return whole;
  }
  wrong.clear();
  Pruner pruned(level);
  pruned.take(text);
  return json::parse(pruned.text(), wrong, std::move(memory), options);
}

bool ListText::take(std::string_view piece) {
  for (const char c : piece) {
    if (error_) break;
    take(c);
  }
  if (!error_ && rest_.size() > kRestMax)
    error_ = Error{Code::Corrupt, "the answer to a list is no list: it has more than " +
                                      std::to_string(kRestMax) + " bytes beside its objects"};
  return !error_;
}

void ListText::take(char c) {
  const bool was_text = in_text_;
  if (in_text_) {
    in_text_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
  } else {
    in_text_ = c == '"';
    if (c == '{' || c == '[') ++depth_;
  }
  if (in_items_ && depth_ > 2 && !object_) object_.emplace(0);
  if (object_) object_->take(c);
  else if (!in_items_ || depth_ != 2 || c != ',' || was_text) rest_ += c;
  if (depth_ == 1 && !was_text) {
    if (in_text_) name_.clear();
    if (c == ':') in_items_ = name_ == "\"items\"";
    if (c == ',') in_items_ = false;
  }
  if (depth_ == 1 && (was_text || in_text_) && name_.size() < 8) name_ += c;
  if (was_text || (c != '}' && c != ']') || depth_ == 0) return;
  --depth_;
  if (object_ && depth_ == 2) end_object();
}

void ListText::end_object() {
  boost::system::error_code wrong;
  const Json object = parse_objects(object_->text(), 0, wrong);
  object_.reset();
  if (wrong) error_ = Error{Code::Corrupt, "a list with an object that is not JSON"};
  else item_(object);
}

Result<Json> ListText::result() const {
  if (error_) return *error_;
  boost::system::error_code wrong;
  Json rest = json::parse(rest_, wrong);
  if (wrong) return Error{Code::Corrupt, "the answer to a list is not JSON"};
  return rest;
}

bool is_too_deep(const Json& value) { return is(value, kTooDeep); }
bool is_too_long(const Json& value) { return is(value, kTooLong); }

std::string replaced_field(const Json& object) {
  if (const json::object* const fields = object.if_object())
    for (const auto& [name, value] : *fields) {
      if (is_too_deep(value))
        return std::string(name) + " is nested more than " + std::to_string(kObjectDepthMax) +
               " levels deep";
      if (is_too_long(value))
        return std::string(name) + " has more than " + std::to_string(kFieldBytesMax) + " bytes";
    }
  return "";
}

}  // namespace etcdop::kube
