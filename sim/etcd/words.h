// Serializes the fake's state into a snapshot: numbers and strings in sequence, a blank after each
// number. Pure.
#pragma once
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace etcdop::sim {

inline void write_word(std::string& out, std::int64_t number) {
  out += std::to_string(number) + " ";
}
inline void write_word(std::string& out, const std::string& text) {
  write_word(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

/// Reads missing values as 0 and ""; good() reports that afterwards.
class WordReader {
 public:
  explicit WordReader(std::string_view bytes) : left_(bytes) {}
  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    good_ = good_ && error == std::errc() && end != left_.data() + left_.size() && *end == ' ';
    if (good_) left_.remove_prefix(static_cast<std::size_t>(end - left_.data()) + 1);
    return good_ ? value : 0;
  }
  std::string string() {
    const auto size = static_cast<std::size_t>(number());
    good_ = good_ && size <= left_.size();
    if (!good_) return {};
    std::string value(left_.substr(0, size));
    left_.remove_prefix(size);
    return value;
  }
  bool good() const { return good_; }

 private:
  std::string_view left_;
  bool good_ = true;
};

}  // namespace etcdop::sim
