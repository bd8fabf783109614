// Objects as JSON text. Users write parts of them: if one object is nested too deeply or is too
// large, the others must still be readable.
#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace etcdop::kube {

/// Maximum nesting of an object that we read. More than any Kubernetes kind needs, and more than
/// releases before this one could list. Values are walked by recursion, on the small stack of a
/// fiber.
inline constexpr std::size_t kObjectDepthMax = 38;

/// Maximum length of an object's own field (`spec`, `status`), and of a field of its metadata, in
/// bytes of JSON. An adopted spec is also in the status, and etcd stores at most 1.5 MiB of both: a
/// longer field was never adopted by any release.
inline constexpr std::size_t kFieldBytesMax = 768 << 10;

/// Copies the JSON text of objects that begin `level` arrays and objects below the root: 0 for an
/// object, 1 for an event of a watch, 2 for a list. Writes a text in place of each field of an
/// object that is nested too deeply or is too long, so the copy of an object is bounded. In
/// `metadata`, which identifies the object, it replaces only the inner field: managedFields repeats
/// the nesting of the rest, and is dropped, as it is not read. The same for spec.podTemplate.spec,
/// which users may write as they like, so that the rest of the spec stays. Works without recursion,
/// so any depth is fine.
class Pruner {
 public:
  explicit Pruner(std::size_t level) : object_(level + 1), field_depth_(object_) {}
  void take(std::string_view text) {
    for (const char c : text) take(c);
  }
  void take(char c);
  const std::string& text() const { return out_; }

 private:
  void skip(std::string_view instead);
  void begin_value();
  void replace_at(std::size_t depth, std::size_t field) {
    field_depth_ = depth;
    field_ = field;
  }
  bool is_too_long() const;

  const std::size_t object_;  ///< Depth of an object's own fields.
  std::size_t field_depth_;   ///< Depth of the field that is replaced if it goes too far.
  std::string out_;
  std::size_t depth_ = 0;
  std::size_t name_ = 0;       ///< Where the last text begins.
  std::size_t field_ = 0;      ///< Where the value of that field begins; 0: none.
  std::size_t own_field_ = 0;  ///< Where the value of the object's last own field begins.
  bool in_metadata_ = false, in_spec_ = false, in_template_ = false;  ///< Where this value is.
  bool is_dropped_ = false;  ///< The value is metadata.managedFields.
  bool in_text_ = false, escaped_ = false;
  bool skips_ = false;  ///< Skipping the rest of a field that was replaced.
};

/// Parses JSON whose objects begin `level` arrays and objects below its root; see Pruner. No reader
/// of typed objects accepts the text in place of a field, so the object counts as unreadable, and
/// its metadata still identifies it. Where only podTemplate.spec is replaced, the object stays
/// readable, and a planner refuses the text. `wrong` is set if the text is not JSON.
Json parse_objects(std::string_view text, std::size_t level, boost::system::error_code& wrong,
                   json::storage_ptr memory = {});

/// Reads the answer to a list as it arrives, and never has more than one object of it in memory.
/// Pure.
class ListText {
 public:
  using Item = std::function<void(const Json&)>;
  /// Limit of all that is not an object.
  static constexpr std::size_t kRestMax = 256 << 10;

  /// `item` must outlive this; it gets each object.
  explicit ListText(const Item& item) : item_(item) {}
  /// False: the text is no list; see result().
  bool take(std::string_view piece);
  /// The list without its objects, at the text's end. Corrupt: not a list in JSON.
  Result<Json> result() const;

 private:
  void take(char c);
  void end_object();
  const Item& item_;
  std::string rest_;              ///< The list without its objects.
  std::optional<Pruner> object_;  ///< The object that is being read.
  std::string name_;              ///< The name of the list's last own field.
  std::size_t depth_ = 0;
  bool in_text_ = false, escaped_ = false, in_items_ = false;
  std::optional<Error> error_;
};

/// True for the text that stands for a field that is nested too deeply.
bool is_too_deep(const Json& value);
/// True for the text that stands for a field that is too long.
bool is_too_long(const Json& value);

/// Which own field of the object was replaced, and why: "spec is nested more than 38 levels deep";
/// empty if none was.
std::string replaced_field(const Json& object);

}  // namespace etcdop::kube
