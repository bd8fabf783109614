// A value that must never reach a log, an event, a status or an error.
#pragma once
#include <string>
#include <utility>

namespace etcdop {

/// Has no printer and no conversion: code that needs the bytes calls reveal(), which is easy to
/// grep for.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& reveal() const { return bytes_; }
  bool empty() const { return bytes_.empty(); }
  bool operator==(const Secret&) const = default;

 private:
  std::string bytes_;
};

}  // namespace etcdop
