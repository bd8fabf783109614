// A snapshot that only who has its key can read: what is stored is a header and frames.
//
//   header   "ETCDOP-SEALED-1\n", the key's id (8 bytes), a salt (32 bytes)
//   frame    up to 64 KiB of the snapshot, sealed with AES-256-GCM: as many bytes, and 16 of a tag
//
// All frames but the last have 64 KiB; there is always a last one. The key of the frames is made of
// the Secret's and the salt (derive_key() of the header), the nonce is the frame's number and
// whether it is the last (STREAM, eprint 2015/189), and each vouches for the header, too: what is
// cut off, reordered, exchanged or of another object is noticed.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "sys/aead.h"

namespace etcdop::agent {

inline constexpr std::size_t kSealedFrameBytes = 64 * 1024;
inline constexpr std::size_t kSealSaltBytes = 32;
/// The entry of the Secret that seals; all of them open.
inline constexpr const char* kSealingEntry = "key";

/// One key, and what it is called where it must not be told.
struct SealingKey {
  std::string id;  ///< 16 hex digits, of its sha256.
  Secret key;
  bool operator==(const SealingKey&) const = default;
};

/// 32 bytes, as they are, as 64 hex digits or as base64 (white space around it is none of it).
/// Invalid: they are not; the text is not quoted.
Result<SealingKey> to_sealing_key(const Secret& text);

/// By their ids.
using SealingKeys = std::map<std::string, Secret>;

/// What one snapshot is sealed with.
struct Sealing {
  SealingKey key;
  std::string salt;  ///< kSealSaltBytes random bytes, never used before.
};

/// Gets what is to be stored, or what was sealed; an error of it ends the work, and is its error.
using TakeBytes = std::function<Result<Done>(std::string_view)>;

class Sealer {
 public:
  Sealer(const Sealing&, TakeBytes);
  Result<Done> add(std::string_view plain);
  /// That was all. Expected flow: add()..., end().
  Result<Done> end();

 private:
  Result<Done> seal(bool last);

  const std::string header_;
  Aead aead_;
  const TakeBytes take_;
  std::string frame_, sealed_;
  std::uint64_t frames_ = 0;
  bool header_given_ = false;
};

/// Whether an object that begins so is sealed.
bool is_sealed(std::string_view beginning);

class Opener {
 public:
  Opener(SealingKeys, TakeBytes);
  /// Corrupt: it is not sealed, or was changed since. Denied: sealed with none of the keys; the
  /// message tells the id of the one that is wanted.
  Result<Done> add(std::string_view sealed);
  /// That was all. Corrupt: something is missing. Expected flow: add()..., end().
  Result<Done> end();
  /// Empty: not known yet.
  const std::string& key_id() const { return key_id_; }

 private:
  Result<Done> read_header();
  Result<Done> open(std::string_view frame, bool last);

  const SealingKeys keys_;
  const TakeBytes take_;
  std::string header_, key_id_, pending_, plain_;
  std::optional<Aead> aead_;
  std::uint64_t frames_ = 0;
};

}  // namespace etcdop::agent
