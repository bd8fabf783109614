#include "agent/sealed.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/check.h"
#include "base/hex.h"
#include "sys/digest.h"

namespace etcdop::agent {
namespace {

constexpr std::string_view kMagic = "ETCDOP-SEALED-1\n";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kHeaderBytes = kMagic.size() + kIdBytes + kSealSaltBytes;
constexpr std::size_t kStoredFrameBytes = kSealedFrameBytes + kAeadTagBytes;

std::string id_of(const std::string& key) {
  Digest sum(Digest::Kind::Sha256);
  sum.add("etcd-operator sealing key\n");  // Separates this hash from all other hashes.
  sum.add(key);
  return hex_of_bytes(sum.bytes().substr(0, kIdBytes));
}

/// The frame's number, big-endian, and whether it is the last.
std::string nonce_of(std::uint64_t frame, bool last) {
  std::string out(kAeadNonceBytes, 0);
  for (std::size_t at = kAeadNonceBytes - 1; at-- > 0 && frame != 0; frame >>= 8)
    out[at] = static_cast<char>(frame & 255);
  out.back() = last ? 1 : 0;
  return out;
}

}  // namespace

Result<SealingKey> to_sealing_key(const Secret& text) {
  const auto made = [](std::string key) { return SealingKey{id_of(key), Secret(key)}; };
  const std::string& raw = text.reveal();
  if (raw.size() == kAeadKeyBytes) return made(raw);
  std::string_view trimmed = raw;
  const auto begin = trimmed.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos)
    trimmed = trimmed.substr(begin, trimmed.find_last_not_of(" \t\r\n") + 1 - begin);
  if (auto key = bytes_of_hex(trimmed); key && key->size() == kAeadKeyBytes) return made(*key);
  if (auto key = from_base64(trimmed); key && key->size() == kAeadKeyBytes) return made(*key);
  return Error{Code::Invalid, "it must have 32 random bytes: raw, as 64 hex digits or as base64"};
}

Sealer::Sealer(const Sealing& with, TakeBytes take)
    : header_(std::string(kMagic) + bytes_of_hex(with.key.id).value_or("") + with.salt),
      aead_(derive_key(with.key.key, header_)),
      take_(std::move(take)) {
  check(header_.size() == kHeaderBytes, "a salt has 32 bytes, and a key's id 8");
}

Result<Done> Sealer::add(std::string_view plain) {
  while (!plain.empty()) {
    // A full frame waits for the next bytes, because it may be the last.
    if (frame_.size() == kSealedFrameBytes)
      if (auto sealed = seal(false); !sealed) return sealed;
    const std::string_view part = plain.substr(0, kSealedFrameBytes - frame_.size());
    frame_ += part;
    plain.remove_prefix(part.size());
  }
  return Done{};
}

Result<Done> Sealer::end() { return seal(true); }

Result<Done> Sealer::seal(bool last) {
  sealed_.clear();
  if (!std::exchange(header_given_, true)) sealed_ = header_;
  aead_.seal(nonce_of(frames_++, last), header_, frame_, sealed_);
  frame_.clear();
  return take_(sealed_);
}

bool is_sealed(std::string_view beginning) { return beginning.starts_with(kMagic); }

Opener::Opener(SealingKeys keys, TakeBytes take) : keys_(std::move(keys)), take_(std::move(take)) {}

Result<Done> Opener::add(std::string_view sealed) {
  while (!sealed.empty()) {
    if (aead_ && pending_.size() == kStoredFrameBytes)
      if (auto opened = open(pending_, false); !opened) return opened;
    const std::size_t whole = aead_ ? kStoredFrameBytes : kHeaderBytes;
    const std::string_view part = sealed.substr(0, whole - pending_.size());
    pending_ += part;
    sealed.remove_prefix(part.size());
    if (!aead_ && pending_.size() == kHeaderBytes)
      if (auto read = read_header(); !read) return read;
  }
  return Done{};
}

Result<Done> Opener::end() {
  if (!aead_) return Error{Code::Corrupt, "it is too short to be a sealed snapshot"};
  return open(pending_, true);
}

Result<Done> Opener::read_header() {
  if (!is_sealed(pending_)) return Error{Code::Corrupt, "it is not encrypted, but a key is given"};
  header_ = std::exchange(pending_, {});
  key_id_ = hex_of_bytes(std::string_view(header_).substr(kMagic.size(), kIdBytes));
  const auto found = keys_.find(key_id_);
  if (found == keys_.end())
    return Error{Code::Denied,
                 "it was sealed with the key " + key_id_ + ", which is not in the Secret"};
  aead_.emplace(derive_key(found->second, header_));
  return Done{};
}

Result<Done> Opener::open(std::string_view frame, bool last) {
  plain_.clear();
  if (auto opened = aead_->open(nonce_of(frames_, last), header_, frame, plain_); !opened)
    return Error{Code::Corrupt, "its frame " + std::to_string(frames_) +
                                    (last ? ", the last," : "") +
                                    " is not as it was sealed: it was changed, or cut off"};
  ++frames_;
  pending_.clear();
  return take_(plain_);
}

}  // namespace etcdop::agent
