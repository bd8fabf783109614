// The only way a call reports an expected failure. Bugs are not reported this way: see check.h.
#pragma once
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace etcdop {

/// Failures that callers handle differently. Add a value only when a caller branches on it.
/// Unavailable: it did not happen. Lost: the request was sent and no answer came, so it may have
/// happened. TimedOut and Cancelled may also have happened if the request was sent. After a write,
/// all three mean: observe again.
enum class Code {
  NotFound,
  AlreadyExists,
  Conflict,
  Invalid,
  Denied,
  Unavailable,
  TimedOut,
  Corrupt,
  Cancelled,
  Lost,
  Expired
};

/// A failure: the program branches on `code`, `message` is for people. Only the adapter that
/// created it reads the original text.
struct [[nodiscard]] Error {
  Code code;
  std::string message;
  /// Prepends what was attempted: "list members of prod/db: connection refused".
  Error during(std::string doing) && { return {code, std::move(doing) + ": " + message}; }
  bool operator==(const Error&) const = default;
};

/// True if the same call may succeed later with nothing else changed; the queue then backs off.
constexpr bool transient(Code c) {
  return c == Code::Conflict || c == Code::Unavailable || c == Code::TimedOut || c == Code::Lost;
}

/// A T, or an Error. A subset of C++23 std::expected<T, Error>; nodiscard as a class.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state_.index() == 0; }
  bool failed_with(Code c) const { return !*this && error().code == c; }
  /// The value and error accessors fail a check if the Result holds the other: that is a bug, not a
  /// failure.
  T& operator*() & {
    check(bool(*this), "holds a value");
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && { return std::move(**this); }
  T* operator->() { return &**this; }
  const Error& error() const {
    check(!*this, "holds an error");
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};
using Done = std::monostate;  ///< Result<Done>: success carries no value.

}  // namespace etcdop
