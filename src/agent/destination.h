// Where one snapshot is stored. s3_destination.h and folder_destination.h are the two kinds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/manifest.h"
#include "agent/reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// Who stores: another run for the same EtcdSnapshot has the same uid and another attempt.
struct Storer {
  std::string uid;
  std::string attempt;  ///< Letters, digits and hyphens.
};

/// Expected flow: look(), begin(), write()..., finish(); abandon() after an error of any of them,
/// or of the snapshot. Each call may suspend.
///
/// Guarantees: what is stored under this name for somebody else is not touched. Nothing is under
/// the name with a manifest beside it but what finish() was given whole.
class Destination {
 public:
  virtual ~Destination() = default;
  /// What an earlier run has stored whole; nullopt: nothing. AlreadyExists: the name is somebody
  /// else's.
  virtual Result<std::optional<AgentReport>> look() = 0;
  /// About so many bytes will come.
  virtual Result<Done> begin(std::uint64_t bytes_expected) = 0;
  virtual Result<Done> write(std::string_view bytes) = 0;
  /// That was all: it becomes visible under its name, is verified, and gets its manifest, whose
  /// attempt this fills in.
  virtual Result<Done> finish(Manifest) = 0;
  /// What is not finished goes away, as far as a few seconds suffice for it, also when the fiber is
  /// cancelled.
  virtual void abandon() = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: how its errors are meant.
  virtual Side side() const = 0;
};

}  // namespace etcdop::agent
