#include "kube/watch_lines.h"

#include <utility>

#include "kube/object_text.h"
#include "kube/request.h"

namespace etcdop::kube {
namespace {

std::optional<WatchEvent::Type> event_type(std::string_view text) {
  if (text == "ADDED") return WatchEvent::Type::Added;
  if (text == "MODIFIED") return WatchEvent::Type::Modified;
  if (text == "DELETED") return WatchEvent::Type::Deleted;
  if (text == "BOOKMARK") return WatchEvent::Type::Bookmark;
  return std::nullopt;
}

}  // namespace

bool WatchLines::take(std::string_view piece) {
  while (!over_ && !piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    if (rest_.size() + part.size() > kLineMax)
      return fail({Code::Corrupt, "an event of more than " + std::to_string(kLineMax) + " bytes"});
    if (end == std::string_view::npos) {
      rest_ += part;
      return true;
    }
    piece.remove_prefix(end + 1);
    if (rest_.empty()) {  // Mostly a line arrives in one piece, and needs no copy.
      over_ = !line(part);
    } else {
      const std::string whole = std::exchange(rest_, {}).append(part);
      over_ = !line(whole);
    }
  }
  return !over_;
}

bool WatchLines::fail(Error error) {
  error_ = std::move(error);
  over_ = true;
  return false;
}

bool WatchLines::line(std::string_view text) {
  if (text.empty() || text == "\r") return true;
  boost::system::error_code not_json;
  Json event = parse_objects(text, 1, not_json);
  json::object* const fields = not_json ? nullptr : event.if_object();
  const Json* const type = fields ? fields->if_contains("type") : nullptr;
  Json* const object = fields ? fields->if_contains("object") : nullptr;
  if (!type || !type->is_string() || !object || !object->is_object())
    return fail({Code::Corrupt, "a line of a watch that is no event"});
  const std::string_view name = type->get_string();
  if (name == "ERROR") return fail(to_error(call_, *object));
  const auto known = event_type(name);
  if (!known) return fail({Code::Corrupt, "an event of unknown type"});
  return each_({*known, std::move(*object)});
}

Result<Done> WatchLines::result() const {
  if (error_) return *error_;
  if (!over_ && !rest_.empty())
    return Error{Code::Unavailable, "the watch ended in the middle of an event"};
  return Done{};
}

}  // namespace etcdop::kube
