// The place where one snapshot is stored. s3_destination.h and folder_destination.h are the two
// kinds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/manifest.h"
#include "agent/reason.h"
#include "base/result.h"

namespace etcdop::agent {

/// The storing run: another run for the same EtcdSnapshot has the same uid and another attempt.
struct Storer {
  std::string uid;
  std::string attempt;  ///< Letters, digits and hyphens.
};

/// Normal flow: look(), begin(), write()..., finish(); abandon() after an error of any of them, or
/// of the snapshot. Each call may suspend.
///
/// Guarantees: another owner's data under this name is not touched. Data with a manifest is always
/// the complete data that finish() was given.
class Destination {
 public:
  virtual ~Destination() = default;
  /// The report of an earlier run that has stored everything; nullopt: none. AlreadyExists: the
  /// name belongs to another owner.
  virtual Result<std::optional<AgentReport>> look() = 0;
  /// About this many bytes will be written.
  virtual Result<Done> begin(std::uint64_t bytes_expected) = 0;
  virtual Result<Done> write(std::string_view bytes) = 0;
  /// Ends the data: it appears under its name, is verified, and gets its manifest, whose attempt
  /// this sets.
  virtual Result<Done> finish(Manifest) = 0;
  /// Removes unfinished data, as far as possible in a few seconds, also when the fiber is
  /// cancelled.
  virtual void abandon() = 0;
  virtual std::string uri() const = 0;
  /// Store or Folder: decides how its errors are read.
  virtual Side side() const = 0;
};

}  // namespace etcdop::agent
