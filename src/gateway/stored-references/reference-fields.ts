import type { Json } from '../model/json.ts'

export interface ReferenceField {
  /** With its article. */
  what: string
  /** `around` is the object with the field. Absent: every value is a reference. */
  when?: (value: unknown, around: Json) => boolean
}

/** A test compares them with the names ending in `_id` or `_ids` in the vendor's SDK. */
export interface ReferenceFields {
  names: Readonly<Record<string, ReferenceField>>
  not: Readonly<Record<string, string>>
}
