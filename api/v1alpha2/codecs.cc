// The codecs of our kinds: instantiated only here (api/codec.h).
#include "api/v1alpha2/etcdcluster.h"
#include "api/v1alpha2/etcddefrag.h"
#include "api/v1alpha2/etcdmember.h"
#include "api/v1alpha2/etcdrestore.h"
#include "api/v1alpha2/etcdsnapshot.h"
#include "api/v1alpha2/etcdsnapshotschedule.h"

namespace etcdop::api {

template struct Codec<v1alpha2::EtcdCluster>;
template struct Codec<v1alpha2::EtcdDefrag>;
template struct Codec<v1alpha2::EtcdMember>;
template struct Codec<v1alpha2::EtcdRestore>;
template struct Codec<v1alpha2::EtcdSnapshot>;
template struct Codec<v1alpha2::EtcdSnapshotSchedule>;

}  // namespace etcdop::api

#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 gives these symbols internal linkage. Nothing in the language explains this: a smaller
// file of the same shape has weak symbols, and so has clang. The concepts of api/field.h are not
// the cause. The build that checks this tree with g++ makes its symbols global here.
#define ETCDOP_GLOBAL(kind)                                \
  __asm__(".globl _ZN6etcdop3api5CodecINS0_8v1alpha2" kind \
          "EE6encodeERKS3_\n"                              \
          ".globl _ZN6etcdop3api5CodecINS0_8v1alpha2" kind \
          "EE6decodeERKN5boost4json5valueERS3_\n")
ETCDOP_GLOBAL("11EtcdCluster");
ETCDOP_GLOBAL("10EtcdDefrag");
ETCDOP_GLOBAL("10EtcdMember");
ETCDOP_GLOBAL("11EtcdRestore");
ETCDOP_GLOBAL("12EtcdSnapshot");
ETCDOP_GLOBAL("20EtcdSnapshotSchedule");
#endif
