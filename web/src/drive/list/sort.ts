import type { DriveFile } from '../../shared/drive/files.ts'

export const orders = ['name', 'modified', 'size', 'kind'] as const
export type Order = (typeof orders)[number]
export interface Sort {
  by: Order
  down: boolean
}

/** Parses an order: `name`, or `-modified` for descending. */
export const sortIn = (words: unknown): Sort => {
  const by = orders.find((order) => typeof words === 'string' && words.replace(/^-/, '') === order)
  return by === undefined ? { by: 'name', down: false } : { by, down: String(words).startsWith('-') }
}
export const sortWords = ({ by, down }: Sort): string => `${down ? '-' : ''}${by}`

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })
const values: Record<Order, (a: DriveFile, b: DriveFile) => number> = {
  name: () => 0,
  modified: (a, b) => (modifiedOf(a) < modifiedOf(b) ? -1 : modifiedOf(a) > modifiedOf(b) ? 1 : 0),
  size: (a, b) => (a.size_bytes ?? 0) - (b.size_bytes ?? 0),
  kind: (a, b) => names.compare(a.mime_type ?? '', b.mime_type ?? ''),
}

/** When a file's content was written; for a folder, when it was last changed. */
export const modifiedOf = ({ content_updated_at, updated_at }: DriveFile): string => content_updated_at ?? updated_at

export function sorted(files: readonly DriveFile[], { by, down }: Sort): DriveFile[] {
  const turn = down ? -1 : 1
  return [...files].sort((a, b) => {
    if (a.kind !== b.kind) return a.kind === 'folder' ? -1 : 1
    return (
      turn * values[by](a, b) || (by === 'name' ? turn : 1) * names.compare(a.name, b.name) || (a.id < b.id ? -1 : 1)
    )
  })
}
