#include "sim/etcd/image.h"

#include <openssl/evp.h>

#include "sim/etcd/words.h"

namespace etcdop::sim {
namespace {

constexpr std::string_view kMagic = "simulated etcd 2\n";
constexpr std::size_t kPage = 4096, kSum = 32;

std::string sha256(std::string_view bytes) {
  std::string sum(kSum, 0);
  (void)EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(sum.data()),
                   nullptr, EVP_sha256(), nullptr);
  return sum;
}

std::string state_of(const Image& image) {
  std::string out;
  image.store.write(out);
  image.users.write(out);
  write_word(out, static_cast<std::int64_t>(image.alarms.size()));
  for (const Alarm& alarm : image.alarms) {
    write_word(out, static_cast<std::int64_t>(alarm.kind));
    write_word(out, static_cast<std::int64_t>(alarm.member.value));
  }
  write_word(out, image.minor);
  return out;
}

Image read_state(WordReader& reader) {
  Image out{.store = Store::read(reader), .users = Users::read(reader), .alarms = {}};
  for (std::int64_t left = reader.number(); reader.good() && left > 0; --left) {
    Alarm alarm;
    alarm.kind = AlarmKind(reader.number());
    alarm.member.value = static_cast<std::uint64_t>(reader.number());
    out.alarms.insert(alarm);
  }
  out.minor = static_cast<int>(reader.number());
  return out;
}

}  // namespace

std::string to_bytes(const Image& image) {
  std::string out(kMagic);
  out += state_of(image);
  out.resize((out.size() + kPage - 1) / kPage * kPage, '\0');
  return out + sha256(out);
}

Result<Image> image_of(std::string_view bytes) {
  const Error corrupt{Code::Corrupt, "no image of a simulated etcd, or not the whole"};
  if (bytes.size() % 512 != kSum || !bytes.starts_with(kMagic)) return corrupt;
  const std::string_view file = bytes.substr(0, bytes.size() - kSum);
  if (sha256(file) != bytes.substr(file.size())) return corrupt;
  WordReader reader(file.substr(kMagic.size()));
  Image out = read_state(reader);
  if (!reader.good()) return corrupt;
  return out;
}

}  // namespace etcdop::sim
