#include "sys/system.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace etcdop {
namespace {

constexpr std::size_t kFileMax = 1 << 20;

Error failure(const std::string& path, int number) {
  const Code code = number == ENOENT   ? Code::NotFound
                    : number == EACCES ? Code::Denied
                                       : Code::Invalid;
  return {code, path + ": " + std::strerror(number)};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failure(path, errno);
  std::string out;
  char piece[16 * 1024];
  ssize_t n = 0;
  int number = 0;
  do {
    n = read(file, piece, sizeof piece);
    if (n < 0) number = errno;
    if (n > 0) out.append(piece, static_cast<std::size_t>(n));
  } while ((n > 0 || (n < 0 && number == EINTR)) && out.size() <= kFileMax);
  close(file);
  if (n < 0) return failure(path, number);
  if (out.size() > kFileMax) return Error{Code::Invalid, path + ": larger than 1 MiB"};
  return out;
}

Result<Done> write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return failure(path, errno);
  std::string_view rest = text;
  int number = 0;
  while (!rest.empty() && number == 0) {
    const ssize_t n = write(file, rest.data(), rest.size());
    if (n >= 0) rest.remove_prefix(static_cast<std::size_t>(n));
    else if (errno != EINTR) number = errno;
  }
  if (close(file) < 0 && number == 0 && errno != EINTR) number = errno;
  if (number != 0) return failure(path, number);
  return Done{};
}

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::uint64_t OsRandom::next() {
  std::uint64_t out = 0;
  check(getrandom(&out, sizeof out, 0) == sizeof out, "the kernel has random bytes");
  return out;
}

WallTime SystemWallClock::wall_now() const {
  return {std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch())};
}

}  // namespace etcdop
