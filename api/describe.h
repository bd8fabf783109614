// All that a struct gets from its description: JSON codec, schema, walks over its fields.
#pragma once
#include "api/codec.h"   // IWYU pragma: export
#include "api/field.h"   // IWYU pragma: export
#include "api/leaves.h"  // IWYU pragma: export
