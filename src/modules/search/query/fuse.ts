/** Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009): results in several lists rank first. */
const K = 60

export type By = 'keyword' | 'semantic'

export interface Fused {
  row_id: bigint
  score: number
  by: By[]
}

export function fuse(lists: readonly { by: By; rows: readonly bigint[] }[]): Fused[] {
  const found = new Map<bigint, Fused>()
  for (const { by, rows } of lists)
    rows.forEach((row_id, i) => {
      const one = found.get(row_id) ?? { row_id, score: 0, by: [] }
      one.score += 1 / (K + i + 1)
      if (!one.by.includes(by)) one.by.push(by)
      found.set(row_id, one)
    })
  return [...found.values()].sort((a, b) => b.score - a.score || Number(b.row_id - a.row_id))
}
