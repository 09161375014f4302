import type { Json } from '../model/json.ts'

/** A field that names something which lies at a vendor, in the account of a key. */
export interface ReferenceField {
  /** With its article. */
  what: string
  /** Some values of the field name nothing. `around`: the object that it stands in. Absent: every value names something. */
  when?: (value: unknown, around: Json) => boolean
}

/** The known fields of a vendor: a test holds it against the names that end in `_id` or `_ids` in the vendor's SDK. */
export interface ReferenceFields {
  names: Readonly<Record<string, ReferenceField>>
  /** Fields that name nothing stored, and why. */
  not: Readonly<Record<string, string>>
}
