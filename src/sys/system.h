// The operating system's files, environment, randomness and date, behind the interfaces of base.
#pragma once
#include <optional>
#include <string>

#include "base/random.h"
#include "base/result.h"
#include "base/wall_time.h"

namespace etcdop {

/// The whole file; 1 MiB at most. NotFound, Denied (permission) or Invalid (too large, a folder),
/// with the path. For small local files only: it does not suspend.
Result<std::string> read_file(const std::string& path);

/// Replaces the file's content; creates the file if it is missing. Errors as for read_file(). It
/// does not suspend.
Result<Done> write_file(const std::string& path, const std::string& text);

/// nullopt if it is not set.
std::optional<std::string> environment(const std::string& name);

/// The name of this machine: in a Pod, the Pod's name.
std::string host_name();

/// Reads the kernel's randomness.
class OsRandom final : public Random {
 public:
  std::uint64_t next() override;
};

class SystemWallClock final : public WallClock {
 public:
  WallTime wall_now() const override;
};

}  // namespace etcdop
