/** A rectangle in pixels of the list's content. */
export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

/** The layout of files in a list: from the left, row by row. */
export interface Layout {
  count: number
  columns: number
  /** The distance from the top of a row to the next one's. */
  pitch: number
  /** The height of a row or tile; the rest of the pitch is the gap. */
  height: number
  /** The gap between two tiles of a row. */
  gap: number
}

/** The places of the files that a box touches, in a list of this width. */
export function covered(
  { left, top, right, bottom }: Box,
  width: number,
  { count, columns, pitch, height, gap }: Layout,
): number[] {
  const cell = (width - gap * (columns - 1)) / columns
  const across = Array.from({ length: columns }, (_, column) => column).filter((column) => {
    const start = column * (cell + gap)
    return start <= right && start + cell >= left
  })
  const first = Math.max(0, Math.ceil((top - height) / pitch))
  const last = Math.min(Math.ceil(count / columns) - 1, Math.floor(bottom / pitch))
  const indices: number[] = []
  for (let row = first; row <= last; row++)
    for (const column of across) if (row * columns + column < count) indices.push(row * columns + column)
  return indices
}
