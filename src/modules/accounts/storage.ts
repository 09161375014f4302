import { sql } from 'kysely'
import { storedByWorkspace } from '#modules/drive/service.ts'
import type { Context } from '#infra/context.ts'
import type { Db } from '#infra/postgres/client.ts'
import type { Id } from '#core/ids.ts'

interface SizedKind {
  kind: string
  bytes(db: Db, workspaceIds: readonly Id[]): Promise<Map<Id, bigint>>
}

const sizedKinds: readonly SizedKind[] = [{ kind: 'file', bytes: storedByWorkspace }]

interface Kind {
  kind: string
  count: number
  size_bytes: number | null
}

/** Includes the trash. Largest first. */
export async function storageOf({ db }: Context, workspaceIds: readonly Id[]) {
  const [{ rows }, ...sizes] = await Promise.all([
    sql<{ workspace_id: Id; kind: string; count: number }>`select workspace_id, kind, count(*)::int as count
      from resources where workspace_id = any(${workspaceIds}::ulid[]) group by 1, 2 order by 2`.execute(db),
    ...sizedKinds.map(({ bytes }) => bytes(db, workspaceIds)),
  ])
  const workspaces = workspaceIds.map((workspace_id) => {
    const kinds: Kind[] = rows
      .filter((row) => row.workspace_id === workspace_id)
      .map(({ kind, count }) => ({ kind, count, size_bytes: null }))
    sizedKinds.forEach(({ kind }, i) => {
      const size = Number(sizes[i]!.get(workspace_id) ?? 0n)
      const entry = kinds.find((one) => one.kind === kind)
      if (entry) entry.size_bytes = size
      // File versions are deleted slightly later than their file.
      else if (size > 0) kinds.push({ kind, count: 0, size_bytes: size })
    })
    return { workspace_id, ...totals(kinds), kinds }
  })
  workspaces.sort(
    (a, b) => b.size_bytes - a.size_bytes || b.count - a.count || (a.workspace_id < b.workspace_id ? -1 : 1),
  )
  return { ...totals(workspaces), workspaces }
}

const totals = (all: readonly { count: number; size_bytes: number | null }[]) => ({
  count: all.reduce((sum, { count }) => sum + count, 0),
  size_bytes: all.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0),
})
