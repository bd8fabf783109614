#include "agent/install_tools.h"

#include <cstdint>

#include "sys/folder.h"

namespace etcdop::agent {
namespace {

constexpr const char* kName = "manager";
constexpr const char* kTemporary = ".manager.tmp";
constexpr unsigned kMode = 0755;
constexpr std::size_t kPieceBytes = 1 << 20;

Result<Done> copy(const OldFile& from, NewFile& to) {
  for (std::uint64_t at = 0; at < from.size();) {
    auto piece = from.read_at(at, kPieceBytes);
    if (!piece) return piece.error();
    if (piece->empty()) return Error{Code::Lost, "the program became shorter while it was copied"};
    if (auto written = to.write(*piece); !written) return written;
    at += piece->size();
  }
  if (auto set = to.set_mode(kMode); !set) return set;
  return to.finish();
}

}  // namespace

Result<Done> install_tools(const std::string& program, const std::string& folder) {
  const std::size_t slash = program.rfind('/');
  if (slash == program.npos)
    return Error{Code::Invalid, "\"" + program + "\" is no path of a program"};
  auto from = Folder::open(program.substr(0, slash + 1));
  if (!from) return from.error();
  auto own = from->open_file(program.substr(slash + 1));
  if (!own) return own.error();
  auto to = Folder::open(folder);
  if (!to) return to.error();
  if (auto removed = to->remove(kTemporary); !removed) return removed;  // Left by a killed run.
  auto file = to->create(kTemporary, kMode);
  if (!file) return file.error();
  auto copied = copy(*own, *file);
  if (copied) copied = to->rename(kTemporary, kName, Folder::Replace::Yes);
  if (!copied) (void)to->remove(kTemporary);
  return copied ? to->sync() : copied;
}

}  // namespace etcdop::agent
