export interface Selection {
  readonly selected: ReadonlySet<string>
  readonly cursor: string | null
  readonly anchor: string | null
}

export const nothing: Selection = { selected: new Set(), cursor: null, anchor: null }

type Ids = readonly string[]

function between(ids: Ids, a: string, b: string): string[] {
  const [from, to] = [ids.indexOf(a), ids.indexOf(b)].sort((x, y) => x - y) as [number, number]
  return from === -1 ? [b] : ids.slice(from, to + 1)
}

/** A click selects one row, Ctrl toggles it, Shift selects from the anchor. */
export function click(state: Selection, ids: Ids, id: string, how: 'alone' | 'toggle' | 'range'): Selection {
  if (how === 'range') {
    const anchor = state.anchor ?? state.cursor ?? id
    return { selected: new Set(between(ids, anchor, id)), cursor: id, anchor }
  }
  if (how === 'alone') return { selected: new Set([id]), cursor: id, anchor: id }
  const selected = new Set(state.selected)
  if (!selected.delete(id)) selected.add(id)
  return { selected, cursor: id, anchor: id }
}

/** Moves the cursor; `range` extends the selection. */
export function step(state: Selection, ids: Ids, by: number, range: boolean): Selection {
  if (ids.length === 0) return state
  const at = state.cursor === null ? -1 : ids.indexOf(state.cursor)
  const to = at === -1 ? (by > 0 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, at + by))
  const cursor = ids[to]!
  if (range) return click({ ...state, anchor: state.anchor ?? state.cursor }, ids, cursor, 'range')
  return { ...state, cursor, anchor: cursor }
}

/** A selection box: replaces or extends the selection. */
export const marked = (state: Selection, before: ReadonlySet<string>, ids: Ids): Selection => ({
  ...state,
  selected: new Set([...before, ...ids]),
  anchor: ids[0] ?? state.anchor,
})

export const all = (state: Selection, ids: Ids): Selection => ({ ...state, selected: new Set(ids) })

export function keep(state: Selection, ids: Ids): Selection {
  const there = new Set(ids)
  const isThere = (id: string | null): boolean => id === null || there.has(id)
  if ([...state.selected].every(isThere) && isThere(state.cursor) && isThere(state.anchor)) return state
  return {
    selected: new Set([...state.selected].filter(isThere)),
    cursor: isThere(state.cursor) ? state.cursor : null,
    anchor: isThere(state.anchor) ? state.anchor : null,
  }
}

/** The selection after these files are removed. The cursor stays at the same position. */
export function without(files: readonly { id: string }[], removed: readonly { id: string }[]): Selection {
  const ids = new Set(removed.map(({ id }) => id))
  const at = files.findIndex(({ id }) => ids.has(id))
  const next = files.slice(at).find(({ id }) => !ids.has(id)) ?? files.slice(0, at).at(-1)
  return { selected: new Set(), cursor: next?.id ?? null, anchor: null }
}
