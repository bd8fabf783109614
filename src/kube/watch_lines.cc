#include "kube/watch_lines.h"

#include <utility>

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
    if (!begun_) begun_.emplace(1);
    begun_->take(part);
    if (begun_->text().size() > kLineMax)
      return fail({Code::Corrupt, "an event of more than " + std::to_string(kLineMax) + " bytes"});
    if (end == std::string_view::npos) return true;
    const Pruner whole = *std::exchange(begun_, std::nullopt);
    over_ = !line(whole.text());
    piece.remove_prefix(end + 1);
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
  if (!over_ && begun_ && !begun_->text().empty())
    return Error{Code::Unavailable, "the watch ended in the middle of an event"};
  return Done{};
}

}  // namespace etcdop::kube
