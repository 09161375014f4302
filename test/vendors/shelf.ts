// The things that lie at a vendor: files, containers, stores, caches, each in the account of the key that put it there.
import { id } from './delivery/plan.ts'
import type { Json, StoredObject } from './vendor.ts'

/** A thing that a request names by its id. */
export type Name = { kind: string; id: string; path: string }

export class Shelf {
  readonly #things = new Map<string, StoredObject>()
  readonly #prefixes: Record<string, string>
  readonly #key: string

  /** `prefixes`: kind → how its ids begin. `key`: whose a thing is when nothing else is said. */
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

  /** The things that lie there for this key; the name of the first that does not. */
  read(key: string, names: Name[]): { read: StoredObject[] } | { missing: Name } {
    const entries = names.map((name) => ({ name, thing: this.#things.get(name.id) }))
    const missing = entries.find(({ name, thing }) => thing?.key !== key || thing.kind !== name.kind)
    if (missing) return { missing: missing.name }
    return { read: entries.flatMap(({ thing }) => (thing ? [thing] : [])) }
  }
}

/**
 * The things that a value names, wherever in it: `kinds` says which field names which kind. A field is a string or a
 * list of strings; what stands under a name of `skip` is data, not a name.
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
