import type { Json } from '../model/json.ts'

/** A field that refers to something stored in an account at a vendor. */
export interface ReferenceField {
  /** With its article. */
  what: string
  /** True if this value is a reference; `around` is the object with the field. Absent: every value is one. */
  when?: (value: unknown, around: Json) => boolean
}

/** A vendor's known fields. A test compares them with the names ending in `_id` or `_ids` in the vendor's SDK. */
export interface ReferenceFields {
  names: Readonly<Record<string, ReferenceField>>
  /** Fields that aren't references, and why. */
  not: Readonly<Record<string, string>>
}
