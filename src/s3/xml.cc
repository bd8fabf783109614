#include "s3/xml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace etcdop::s3 {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

bool is_name(std::string_view text) {
  constexpr std::string_view stops = " \t\r\n<>&'\"=/!?";
  return !text.empty() && text.find_first_of(stops) == text.npos;
}

std::string without_prefix(std::string_view name) {
  return std::string(name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1));
}

/// False if `c` is not a character.
bool append_utf8(std::uint32_t c, std::string& out) {
  const auto byte = [&out](std::uint32_t b) { out += static_cast<char>(b); };
  const auto last = [&](std::uint32_t shift) { byte(0x80U | (c >> shift & 0x3FU)); };
  if (c == 0 || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return false;
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0U | c >> 6U);
    last(0);
  } else if (c < 0x10000) {
    byte(0xE0U | c >> 12U);
    last(6);
    last(0);
  } else {
    byte(0xF0U | c >> 18U);
    last(12);
    last(6);
    last(0);
  }
  return true;
}

/// `name`: the text between & and ;.
bool append_entity(std::string_view name, std::string& out) {
  constexpr std::pair<std::string_view, char> known[] = {
      {"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  for (const auto& [entity, c] : known)
    if (name == entity) {
      out += c;
      return true;
    }
  if (!name.starts_with('#')) return false;
  name.remove_prefix(1);
  const bool hexadecimal = name.starts_with('x');
  if (hexadecimal) name.remove_prefix(1);
  std::uint32_t c = 0;
  const auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), c, hexadecimal ? 16 : 10);
  return error == std::errc() && end == name.data() + name.size() && append_utf8(c, out);
}

Result<std::string> decoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t at = std::min(text.find('&'), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) break;
    const std::size_t end = text.find(';');
    if (end == text.npos || !append_entity(text.substr(1, end - 1), out))
      return Error{Code::Corrupt, "an entity that is not XML's own"};
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

Error XmlReader::wrong(const std::string& what) const {
  return {Code::Corrupt, "the answer's XML has " + what};
}

Result<XmlReader::Piece> XmlReader::next() {
  if (closes_at_once_) {
    closes_at_once_ = false;
    const std::string name = open_.back();
    return close(name);
  }
  const std::size_t blank = std::min(rest_.find_first_not_of(kBlank), rest_.size());
  if (blank == rest_.size()) {
    if (!open_.empty()) return wrong("no end");
    if (!any_) return wrong("no element");
    return Piece{};
  }
  if (rest_[blank] == '<') {
    rest_.remove_prefix(blank);
    return tag();
  }
  if (open_.empty()) return wrong("text outside of its elements");
  const std::size_t end = std::min(rest_.find('<'), rest_.size());
  auto text = decoded(rest_.substr(0, end));
  if (!text) return wrong(text.error().message);
  rest_.remove_prefix(end);
  return Piece{Kind::Text, std::move(*text)};
}

Result<XmlReader::Piece> XmlReader::tag() {
  if (rest_.starts_with("<!")) return wrong("a document type, a comment or CDATA");
  if (rest_.starts_with("<?")) {
    const std::size_t end = rest_.find("?>");
    if (any_ || end == rest_.npos) return wrong("a processing instruction");
    rest_.remove_prefix(end + 2);
    if (rest_.find_first_not_of(kBlank) != rest_.npos &&
        rest_.substr(rest_.find_first_not_of(kBlank)).starts_with("<?"))
      return wrong("two declarations");
    return next();
  }
  const std::size_t end = rest_.find('>');
  if (end == rest_.npos) return wrong("no end");
  const std::string_view inside = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  return inside.starts_with('/') ? close(inside.substr(1)) : open(inside);
}

Result<XmlReader::Piece> XmlReader::open(std::string_view inside) {
  closes_at_once_ = inside.ends_with('/');
  if (closes_at_once_) inside.remove_suffix(1);
  const std::string_view name = inside.substr(0, inside.find_first_of(kBlank));
  if (!is_name(name) || inside.find('<') != inside.npos) return wrong("a tag without a name");
  if (any_ && open_.empty()) return wrong("two roots");
  if (open_.size() == kDepthMax) return wrong("too many levels");
  any_ = true;
  open_.emplace_back(name);
  return Piece{Kind::Open, without_prefix(name)};
}

Result<XmlReader::Piece> XmlReader::close(std::string_view name) {
  name = name.substr(0, name.find_last_not_of(kBlank) + 1);
  if (open_.empty() || open_.back() != name) return wrong("tags that cross");
  Piece piece{Kind::Close, without_prefix(name)};
  open_.pop_back();
  return piece;
}

std::string one_line(std::string_view text) {
  constexpr std::size_t kMax = 300;
  std::string out(text.substr(0, kMax));
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, ' ');
  return out;
}

}  // namespace etcdop::s3
