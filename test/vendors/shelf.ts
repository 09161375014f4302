// Objects stored at a vendor: files, containers, stores, caches, each in the account of its key.
import { id } from './delivery/plan.ts'
import type { Json, StoredObject } from './vendor.ts'

/** A reference by ID in a request. */
export type Name = { kind: string; id: string; path: string }

export class Shelf {
  readonly #things = new Map<string, StoredObject>()
  readonly #prefixes: Record<string, string>
  readonly #key: string

  /** `prefixes`: kind → prefix of its IDs. `key`: the default account. */
  constructor(key: string, prefixes: Record<string, string>) {
    this.#key = key
    this.#prefixes = prefixes
  }

  put({ kind, text, key = this.#key }: { kind: string; text: string; key?: string | undefined }): string {
    const prefix = this.#prefixes[kind]
    if (prefix === undefined) throw new Error(`This vendor keeps no ${kind}.`)
    const name = id(prefix)
    this.#things.set(name, { kind, id: name, key, text })
    return name
  }

  /** Returns the key's objects with these names, or the first missing one. */
  read(key: string, names: Name[]): { read: StoredObject[] } | { missing: Name } {
    const entries = names.map((name) => ({ name, thing: this.#things.get(name.id) }))
    const missing = entries.find(({ name, thing }) => thing?.key !== key || thing.kind !== name.kind)
    if (missing) return { missing: missing.name }
    return { read: entries.flatMap(({ thing }) => (thing ? [thing] : [])) }
  }
}

/**
 * Finds references anywhere in a value: `kinds` maps fields to kinds. A field is a string or a list of strings;
 * contents of a name in `skip` are data.
 */
export function referencesIn(value: unknown, kinds: Record<string, string>, skip: Set<string>, path = ''): Name[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value as Json).flatMap(([field, inner]) => {
    if (skip.has(field)) return []
    const at = Array.isArray(value) ? `${path}[${field}]` : path === '' ? field : `${path}.${field}`
    const kind = kinds[field]
    if (kind === undefined || (typeof inner === 'object' && !Array.isArray(inner)))
      return referencesIn(inner, kinds, skip, at)
    return [inner].flat().flatMap((one) => (typeof one === 'string' ? [{ kind, id: one, path: at }] : []))
  })
}
