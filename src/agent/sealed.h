// A snapshot that can be read only with its key. The stored format is a header and frames.
//
//   header   "ETCDOP-SEALED-1\n", the key's id (8 bytes), a salt (32 bytes)
//   frame    up to 64 KiB of the snapshot, sealed with AES-256-GCM: the same number of bytes, and a
//            tag of 16 bytes
//
// All frames except the last have 64 KiB; a last frame always exists. The key of the frames is
// derived from the Secret's key and the salt (derive_key() of the header). The nonce is the frame's
// number and whether it is the last (STREAM, eprint 2015/189). Each frame also authenticates the
// header. So a frame that is cut off, reordered, exchanged or from another object is detected.
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
/// The entry of the Secret that seals; all entries can open.
inline constexpr const char* kSealingEntry = "key";

/// One key, and its public id.
struct SealingKey {
  std::string id;  ///< 16 hex digits of the key's sha256.
  Secret key;
  bool operator==(const SealingKey&) const = default;
};

/// 32 bytes, raw, as 64 hex digits or as base64 (surrounding white space is ignored). Invalid:
/// anything else; the text is not quoted.
Result<SealingKey> to_sealing_key(const Secret& text);

/// Keys by id.
using SealingKeys = std::map<std::string, Secret>;

/// The key and salt of one snapshot.
struct Sealing {
  SealingKey key;
  std::string salt;  ///< kSealSaltBytes random bytes, never used before.
};

/// Receives the bytes to store, or the unsealed bytes; its error ends the work, and is returned.
using TakeBytes = std::function<Result<Done>(std::string_view)>;

class Sealer {
 public:
  Sealer(const Sealing&, TakeBytes);
  Result<Done> add(std::string_view plain);
  /// Ends the data. Normal flow: add()..., end().
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

/// Whether an object with this beginning is sealed.
bool is_sealed(std::string_view beginning);

class Opener {
 public:
  Opener(SealingKeys, TakeBytes);
  /// Corrupt: not sealed, or changed since. Denied: sealed with another key than these; the message
  /// has the id of the required key.
  Result<Done> add(std::string_view sealed);
  /// Ends the data. Corrupt: something is missing. Normal flow: add()..., end().
  Result<Done> end();
  /// Empty: unknown yet.
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
