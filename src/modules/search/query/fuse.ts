/** Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): results in several lists rank first. */
const K = 60

export type By = 'keyword' | 'semantic'

export interface FusedHit {
  row_id: bigint
  score: number
  by: By[]
}

export function fuse(lists: readonly { by: By; rows: readonly bigint[] }[]): FusedHit[] {
  const hits = new Map<bigint, FusedHit>()
  for (const { by, rows } of lists)
    rows.forEach((row_id, i) => {
      const hit = hits.get(row_id) ?? { row_id, score: 0, by: [] }
      hit.score += 1 / (K + i + 1)
      if (!hit.by.includes(by)) hit.by.push(by)
      hits.set(row_id, hit)
    })
  return [...hits.values()].sort((a, b) => b.score - a.score || Number(b.row_id - a.row_id))
}
